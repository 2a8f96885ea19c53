#pragma once
// This file computes singular values and vectors of bidiagonal matrices by divide and conquer, with the
// vectors of Gu and Eisenstat.

#include <cstdint>

#include "types/matrix.h"

namespace hlo::lapack {

// bdsdc: replaces the diagonal by the singular values and stores the singular vectors, in the same order, in
// the rows of `left` and `right` (whose column strides are 1). order[i] is the index of the i-th smallest.
// `above` has room for n elements. The norm of the matrix is about 1. Returns 0, or another number if the
// iteration fails.
int64_t BidiagonalSingular(int64_t n, double* diagonal, double* above, const Matrix<double>& left,
                           const Matrix<double>& right, int64_t* order);
int64_t BidiagonalSingularScratchBytes(int64_t n);

}  // namespace hlo::lapack
