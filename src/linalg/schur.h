#pragma once
// The QR iteration of LAPACK's hseqr for small matrices: eigenvalues converge in its order.

#include "linalg/matrix.h"

namespace hlo::linalg {

// hseqr chooses another iteration for larger matrices.
inline constexpr int64_t kLargestSmallSchur = 75;

// Replaces t = a by the Schur form, a = z t z^H. Blocks of a real form are standardised. False if it does not
// converge; the matrices are finite. `single`: elements are negligible where they are in single precision, as
// the order of the eigenvalues depends on that.
bool SmallSchur(Matrix<double> t, Matrix<double> z, bool single);
bool SmallSchur(Matrix<Complex> t, Matrix<Complex> z, bool single);

}  // namespace hlo::linalg
