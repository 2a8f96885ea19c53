#pragma once
// This file lowers dot to batched matrix products (semantics 6.1). Dimensions that are contiguous in both
// operands are merged, the others are expressed by strides. Operands are copied only when panels are packed.

#include "absl/types/span.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"
#include "types/index.h"

namespace hlo::cpu {

// Dimensions of one operand, in pairs with those of the other.
struct DotSide {
  absl::Span<const int64_t> batch, contracting;
};

// Describes out[batch, free lhs, free rhs] = sum of lhs * rhs over the contracting dimensions, for types that
// GemmSupports accepts. `out` is dense and must not overlap the operands.
GemmProblem DotProblem(const DenseArray& lhs, const DotSide& lhs_dims, const DenseArray& rhs,
                       const DotSide& rhs_dims, void* out, ElementType out_type);

}  // namespace hlo::cpu
