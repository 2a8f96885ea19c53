#pragma once
// Matrix products, to which dot, pointwise convolutions and others are lowered:
//   c[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]
// A problem describes the layouts of the matrices, without their data.

#include <cstdint>

#include "absl/types/span.h"
#include "hlo_run/element_type.h"
#include "types/index.h"

namespace hlo {
class Instruction;
}

namespace hlo::loops {

// A batch of matrices in one array. Strides are in elements and may be 0 or negative.
struct MatrixLayout {
  ElementType type = ElementType::kF32;
  int64_t row_stride = 0, column_stride = 0;
  Index batch_strides;  // One stride per batch dimension of the problem.
  // If rows span several dimensions of an array, the last one fastest, row_sizes and row_strides describe
  // them (the sizes multiply to m or k) and row_stride is unused. The same holds for columns.
  Index row_sizes = {}, row_strides = {};
  Index column_sizes = {}, column_strides = {};
};

// The problem, with operands of type Matrix: a layout, or a layout with data.
template <class Matrix>
struct GemmProblemOf {
  int64_t m = 0, n = 0, k = 0;
  Index batch_dims;  // Empty for a single product.
  Matrix a, b;
  ElementType c_type = ElementType::kF32;
  int64_t c_row_stride = 0;  // Rows of c are contiguous.
  Index c_batch_strides;
};
using GemmProblem = GemmProblemOf<MatrixLayout>;

// Returns the type in which sums are accumulated: f32, f64, c64 or c128, and u32 or u64 for all integers.
ElementType GemmComputeType(ElementType a, ElementType b, ElementType c);

// Returns true if sums of products of these types are rounded to the type of c (types/promotion.h) without a
// further conversion.
bool GemmSupports(ElementType a, ElementType b, ElementType c);

// Products of at most this many rows, or columns, are bound by memory bandwidth. Kernels for them read the
// elements of the other operand once, and may widen these elements to the compute type as they load them.
inline constexpr int64_t kMaxThinRows = 12;
// True if such kernels widen elements of this type to f32 as they load them.
inline bool WidensOnLoad(ElementType type) {
  return type == ElementType::kBF16 || type == ElementType::kF16 || type == ElementType::kS8;
}

// A dense operand of a dot, with its dimensions in pairs with those of the other.
struct DotOperand {
  ElementType type;
  absl::Span<const int64_t> dims, batch, contracting;
};

// Returns out[batch, free lhs, free rhs] = sum of lhs * rhs over the contracting dimensions (semantics 6.1)
// for types that GemmSupports accepts; the result is dense. Dimensions that are contiguous in both operands
// are merged, the others are expressed by strides.
GemmProblem DotProblem(const DotOperand& lhs, const DotOperand& rhs, ElementType out_type);
GemmProblem DotProblem(const Instruction& dot);

}  // namespace hlo::loops
