#pragma once
// Products of a few rows and a matrix, which take as long as it takes to read the matrix once.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cpu/gemm/gemm.h"

namespace hlo::cpu {

inline constexpr int64_t kFewRows = 4;
// Up to so many where the matrix lies in rows; more than a few come in whole chunks of them, the last one
// filled with zeros.
inline constexpr int64_t kMostRows = 12;
inline int64_t WholeChunks(int64_t rows) {
  return rows <= kFewRows ? rows : (rows + kFewRows - 1) / kFewRows * kFewRows;
}

// Element (k, j) is data[k * row_stride + j * column_stride], or that number, from `first` on, of what is
// computed: then one of the strides is 1.
struct MatrixView {
  const void* data;
  ElementType type;
  int64_t row_stride, column_stride;
  const BlockFunction* compute = nullptr;
  int64_t first = 0;
};

// The distance of rows of so many elements that do not get into each other's way in the cache.
inline int64_t RowDistance(int64_t length) { return (length + 15) / 16 * 16 + 16; }

// out[i * out_ld + j] = sum over k of a[i * a_ld + k] * b(k, j) for 1 <= rows <= kMostRows, in whole chunks.
// What lies between rows of out becomes anything. T: float, double, uint32_t or uint64_t.
template <class T>
void MultiplyRows(int64_t rows, int64_t n, int64_t k_count, const T* a, int64_t a_ld, const MatrixView& b,
                  T* out, int64_t out_ld);

}  // namespace hlo::cpu
