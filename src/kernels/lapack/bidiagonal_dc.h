#pragma once
// Singular values and vectors of bidiagonal matrices: divide and conquer, with Gu's and Eisenstat's vectors.

#include <cstdint>

#include "linalg/matrix.h"

namespace hlo::factor {

// bdsdc: the diagonal becomes the singular values, rows of `left` and `right` (with column strides of 1) the
// singular vectors in the same order; order[i] is the number of the i-th smallest. `above` has room for n
// elements. The norm of the matrix is about 1. Returns 0, or another number where there is no result.
int64_t BidiagonalSingular(int64_t n, double* diagonal, double* above, const linalg::Matrix<double>& left,
                           const linalg::Matrix<double>& right, int64_t* order);
int64_t BidiagonalSingularScratchBytes(int64_t n);

}  // namespace hlo::factor
