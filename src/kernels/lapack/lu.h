#pragma once
// This file computes LU factorisations with partial pivoting, recursively by halves of the columns.

#include "absl/types/span.h"
#include "kernels/lapack/product.h"

namespace hlo::lapack {

// getrf: factors a = P l u in place. pivots[i] is the row (from 0) that was swapped with row i. Rows of a are
// contiguous. Returns 0, or the number (from 1) of the first zero pivot.
template <class T>
int64_t Lu(const Matrix<T>& a, absl::Span<int64_t> pivots);

// Returns the bytes of scratch memory that Lu needs.
int64_t LuScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

}  // namespace hlo::lapack
