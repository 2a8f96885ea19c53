#pragma once
// This file computes eigenvalues and eigenvectors of tridiagonal matrices by divide and conquer, with the
// vectors of Gu and Eisenstat.

#include <cstdint>

#include "types/matrix.h"

namespace hlo::lapack {

// stedc: replaces the diagonal by the eigenvalues and stores the eigenvectors, in the same order, in the rows
// of `rows` (whose column stride is 1). order[i] is the index of the i-th smallest. `off_diagonal` has
// room for n elements. The norm of the matrix is about 1. Returns 0, or another number if the iteration
// fails.
int64_t TridiagonalEigen(int64_t n, double* diagonal, double* off_diagonal, const Matrix<double>& rows,
                         int64_t* order);
int64_t TridiagonalEigenScratchBytes(int64_t n);

}  // namespace hlo::lapack
