#pragma once
// This file computes eigenvalues of tridiagonal matrices and singular values of bidiagonal matrices by
// shifted QR steps. It serves small matrices, the blocks of a division, and large matrices whose vectors are
// not needed. The norm of the whole matrix is about 1.

#include <cstdint>

namespace hlo::lapack {

// Returns the largest magnitude of the diagonal and of the n - 1 off-diagonal elements.
double LargestElement(int64_t n, const double* diagonal, const double* off_diagonal);

// lartg: (c s; -s c) (f; g) = (r; 0).
struct Rotation {
  double c, s, r;
};
Rotation MakeRotation(double f, double g);

// Vectors stored as rows, to which the rotations are applied; nothing is done if data is nullptr.
struct VectorRows {
  double* data = nullptr;
  int64_t row_stride = 0, length = 0;
  double* Row(int64_t i) const { return data + i * row_stride; }
};

// steqr: replaces the diagonal by the eigenvalues, unsorted. `off_diagonal` has n - 1 elements and room
// for n.
// Returns 0, or the number of eigenvalues that were not found.
int64_t TridiagonalQr(int64_t n, double* diagonal, double* off_diagonal, VectorRows vectors);

// bdsqr: replaces the diagonal by the singular values, unsorted and of either sign, of a bidiagonal matrix
// with the n - 1 elements `above` its diagonal.
int64_t BidiagonalQr(int64_t n, double* diagonal, double* above, VectorRows left, VectorRows right);

}  // namespace hlo::lapack
