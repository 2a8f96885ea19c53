#pragma once
// Products of a few rows and a matrix, which take as long as it takes to read the matrix once.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cpu/gemm.h"

namespace hlo::cpu {

inline constexpr int64_t kFewRows = 4;

// Element (k, j) is data[k * row_stride + j * column_stride], or that number, from `first` on, of what is
// computed: then one of the strides is 1.
struct MatrixView {
  const void* data;
  ElementType type;
  int64_t row_stride, column_stride;
  const BlockFunction* compute = nullptr;
  int64_t first = 0;
};

// out[i * n + j] = sum over k of a[i * k_count + k] * b(k, j) for 1 <= rows <= kFewRows.
// T: float, double, uint32_t or uint64_t.
template <class T>
void MultiplyRows(int64_t rows, int64_t n, int64_t k_count, const T* a, const MatrixView& b, T* out);

}  // namespace hlo::cpu
