#pragma once
// This file implements the QR iteration of LAPACK's lahqr, with which hseqr finds the eigenvalues of small
// matrices; eigenvalues converge in its order.

#include <complex>

#include "types/matrix.h"

namespace hlo::reference::lapack {

// Replaces t = a by the Schur form, a = z t z^H, for finite matrices. Blocks of a real form are standardised.
// Returns false, with t unchanged, if the iteration does not converge. `single` uses single-precision
// thresholds for negligible elements, because the order of the eigenvalues depends on them.
bool Schur(Matrix<double> t, Matrix<double> z, bool single);
bool Schur(Matrix<std::complex<double>> t, Matrix<std::complex<double>> z, bool single);

}  // namespace hlo::reference::lapack
