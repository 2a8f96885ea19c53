#pragma once
// This file declares matrix products, to which dot, convolution and others are lowered:
//   c[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]
// The order of summation depends on the shape alone (for bf16, also on whether there are very small numbers).
// Each sum is rounded (or wrapped, or truncated) to the type of c once, at its end: semantics 6.1.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "types/index.h"

namespace hlo::cpu {

// A block of an array. Its element (r, c) has index first + r * row_stride + c in the array and is stored at
// data[r * data_stride + c].
struct ArrayBlock {
  int64_t first, rows, columns, row_stride;
  void* data;
  int64_t data_stride;
};

// A callback that computes blocks of an operand on demand, or post-processes finished blocks of a result
// while they are in the cache, for example with a bias or an activation. It is called from several threads.
struct BlockFunction {
  void (*run)(const void* context, const ArrayBlock& block) = nullptr;
  const void* context = nullptr;
  double nanoseconds = 0;  // Approximate time per element.
};

// A batch of matrices in one buffer. Strides are in elements and may be 0 or negative. `data` points to
// element [0, ..., 0].
struct GemmOperand {
  const void* data = nullptr;
  ElementType type = ElementType::kF32;
  int64_t row_stride = 0, column_stride = 0;
  Index batch_strides;  // One stride per batch dimension of the problem.
  // If rows span several dimensions of an array, the last one fastest, row_sizes and row_strides describe
  // them (the sizes multiply to m or k) and row_stride is unused. The same holds for columns.
  Index row_sizes = {}, row_strides = {};
  Index column_sizes = {}, column_strides = {};
  // If set, `compute` provides the elements instead of `data`; their indices start at `first`. One of the
  // strides is then 1, the other positive, and rows and columns span one dimension each.
  const BlockFunction* compute = nullptr;
  int64_t first = 0;
};

// Returns the approximate number of columns in the blocks that an epilogue sees, for sums of k terms.
int64_t EpilogueColumns(int64_t k);

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  Index batch_dims;  // Empty for a single product.
  GemmOperand a, b;
  void* c = nullptr;  // Rows are contiguous. nullptr if only the epilogue sees the result.
  ElementType c_type = ElementType::kF32;
  int64_t c_row_stride = 0;
  Index c_batch_strides;
  BlockFunction epilogue;  // Called exactly once per element of c.
};

// Returns the type in which sums are accumulated: f32, f64, c64 or c128, and u32 or u64 for all integers.
ElementType GemmComputeType(ElementType a, ElementType b, ElementType c);

// Returns true if Gemm supports these types, that is, if sums are rounded to the type of c
// (types/promotion.h) without a further conversion.
bool GemmSupports(ElementType a, ElementType b, ElementType c);

// Returns true if operands in memory use another, faster kernel than computed operands.
bool GemmWantsMemory(const GemmProblem& problem);

// Computes the product. c must not overlap a or b. Each thread caches about 20 MiB of scratch memory, and
// thin products need their few rows or columns in the compute type in addition.
void Gemm(const GemmProblem& problem);

}  // namespace hlo::cpu
