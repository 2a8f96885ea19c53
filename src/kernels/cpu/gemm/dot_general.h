#pragma once
// dot as a batch of matrix products (semantics 6.1): dimensions that lie side by side in both operands become
// one, the rest is strides. No operand is copied but into the panels of the product.

#include "absl/types/span.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"
#include "types/index.h"

namespace hlo::cpu {

// Dimensions of an operand, in pairs with those of the other.
struct DotSide {
  absl::Span<const int64_t> batch, contracting;
};

// out[batch, free lhs, free rhs] = the sum of lhs * rhs over the contracting dimensions, for types that
// GemmSupports. out is dense; it must not overlap the operands.
GemmProblem DotProblem(const DenseArray& lhs, const DotSide& lhs_dims, const DenseArray& rhs,
                       const DotSide& rhs_dims, void* out, ElementType out_type);

}  // namespace hlo::cpu
