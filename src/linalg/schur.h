#pragma once
// This file implements the QR iteration of LAPACK's hseqr for small matrices; eigenvalues converge in its
// order.

#include "linalg/matrix.h"

namespace hlo::linalg {

// hseqr uses a different iteration for larger matrices.
inline constexpr int64_t kLargestSmallSchur = 75;

// Replaces t = a by the Schur form, a = z t z^H, for finite matrices. Blocks of a real form are standardised.
// Returns false if the iteration does not converge. `single` uses single-precision thresholds for negligible
// elements, because the order of the eigenvalues depends on them.
bool SmallSchur(Matrix<double> t, Matrix<double> z, bool single);
bool SmallSchur(Matrix<Complex> t, Matrix<Complex> z, bool single);

}  // namespace hlo::linalg
