#pragma once
// Products of matrices: what dot, convolution and others come down to.
//   c[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]
// Every sum has an order that follows from the shape alone (for bf16, also from whether there are very small
// numbers), and one rounding (or wrap, or truncation) to the
// type of c at its end: semantics 6.1.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "types/index.h"

namespace hlo::cpu {

// A block of an array: its element (r, c) is number first + r * row_stride + c of the array, and lies at
// data[r * data_stride + c].
struct ArrayBlock {
  int64_t first, rows, columns, row_stride;
  void* data;
  int64_t data_stride;
};

// What computes blocks of an operand as they are needed, or changes blocks of a result as they are finished:
// to add a bias or apply an activation while they are in the cache. Called from several threads.
struct BlockFunction {
  void (*run)(const void* context, const ArrayBlock& block) = nullptr;
  const void* context = nullptr;
  double nanoseconds = 0;  // About, for an element.
};

// A batch of matrices that lie in one buffer. Strides are in elements; they may be 0 or negative. `data` is
// the element [0, ..., 0].
struct GemmOperand {
  const void* data = nullptr;
  ElementType type = ElementType::kF32;
  int64_t row_stride = 0, column_stride = 0;
  Index batch_strides;  // One for each of the problem's batch dimensions.
  // Where the rows run through several dimensions of an array, the last fastest: these, which multiply to m
  // or k, instead of row_stride. Likewise the columns.
  Index row_sizes = {}, row_strides = {};
  Index column_sizes = {}, column_strides = {};
  // Instead of data: what computes the elements, which are counted from number `first` on. Then one of the
  // strides is 1, the other positive, and rows and columns run through one dimension each.
  const BlockFunction* compute = nullptr;
  int64_t first = 0;
};

// The columns of blocks of a product with sums of k terms that has more, about.
int64_t EpilogueColumns(int64_t k);

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  Index batch_dims;  // Empty: one product.
  GemmOperand a, b;
  void* c = nullptr;  // Neighbours in a row are neighbours in memory. nullptr: for the epilogue alone.
  ElementType c_type = ElementType::kF32;
  int64_t c_row_stride = 0;
  Index c_batch_strides;
  BlockFunction epilogue;  // Called once for each element of c.
};

// The type in which a product of operands of these types is summed up for this result: f32, f64, u32 and u64
// for all integers, c64 or c128.
ElementType GemmComputeType(ElementType a, ElementType b, ElementType c);

// Returns whether Gemm takes these types: whether sums are rounded to the type of c (types/promotion.h), so
// that no conversion follows.
bool GemmSupports(ElementType a, ElementType b, ElementType c);

// Whether operands in memory are multiplied in another way, and quicker, than computed ones.
bool GemmWantsMemory(const GemmProblem& problem);

// c must not overlap a or b. Scratch memory, which threads keep: some 20 MiB, and for products of a few rows
// or columns those in the compute type.
void Gemm(const GemmProblem& problem);

}  // namespace hlo::cpu
