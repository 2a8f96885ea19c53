#pragma once
// Eigenvalues and eigenvectors of tridiagonal matrices: divide and conquer, with Gu's and Eisenstat's
// vectors.

#include <cstdint>

#include "linalg/matrix.h"

namespace hlo::factor {

// stedc: the diagonal becomes the eigenvalues, rows of `rows` (with a column stride of 1) the eigenvectors in
// the same order; order[i] is the number of the i-th smallest. `beside` has room for n elements. The norm of
// the matrix is about 1. Returns 0, or another number where there is no result.
int64_t TridiagonalEigen(int64_t n, double* diagonal, double* beside, const linalg::Matrix<double>& rows,
                         int64_t* order);
int64_t TridiagonalEigenScratchBytes(int64_t n);

}  // namespace hlo::factor
