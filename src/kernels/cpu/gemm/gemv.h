#pragma once
// This file declares products of a few rows and a matrix, which are bound by memory bandwidth.

#include <cstdint>

#include "base/arithmetic.h"
#include "hlo_run/element_type.h"
#include "kernels/cpu/gemm/gemm.h"
#include "loops/gemm_problem.h"

namespace hlo::cpu {

inline constexpr int64_t kFewRows = 4;
// The maximum number of rows if the matrix is row-major. More than kFewRows rows are processed in full chunks
// of kFewRows, the last one padded with zeros.
inline constexpr int64_t kMaxRows = loops::kMaxThinRows;
inline int64_t WholeChunks(int64_t rows) { return rows <= kFewRows ? rows : RoundUp(rows, kFewRows); }

// Element (k, j) is data[k * row_stride + j * column_stride]. If `compute` is set, it is the computed element
// with this index plus `first`, and one of the strides is 1.
struct MatrixView {
  const void* data;
  ElementType type;
  int64_t row_stride, column_stride;
  const BlockFunction* compute = nullptr;
  int64_t first = 0;
};

// Returns a leading dimension for rows of this length that avoids cache set conflicts.
inline int64_t RowDistance(int64_t length) { return RoundUp(length, 16) + 16; }

// Sets out[i * out_ld + j] = sum over k of a[i * a_ld + k] * b(k, j) for 1 <= rows <= kMaxRows, in full
// chunks. The padding between rows of out is clobbered. T is float, double, uint32_t or uint64_t.
template <class T>
void MultiplyRows(int64_t rows, int64_t n, int64_t k_count, const T* a, int64_t a_ld, const MatrixView& b,
                  T* out, int64_t out_ld);

}  // namespace hlo::cpu
