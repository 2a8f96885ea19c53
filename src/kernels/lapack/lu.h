#pragma once
// LU factors with partial pivoting, by halves of the columns.

#include "absl/types/span.h"
#include "kernels/lapack/product.h"

namespace hlo::factor {

// a = P l u in place, as LAPACK's getrf: pivots[i] is the row (from 0) that row i changed places with. Rows
// of a are neighbours in memory. Returns 0, or the number (from 1) of the first pivot that is zero.
template <class T>
int64_t Lu(const Matrix<T>& a, absl::Span<int64_t> pivots);

// Bytes that Lu takes besides.
int64_t LuScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

}  // namespace hlo::factor
