#pragma once
// Code shared by dot and convolution: the wide accumulation type, the matrix product and the final rounding
// (semantics 6.1).

#include <complex>
#include <cstdint>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "reference/arrays.h"
#include "types/dispatch.h"
#include "types/index.h"
#include "types/scalar_ops.h"

namespace hlo::reference {

// Returns the wide type in which products of this type accumulate. Operands convert to it exactly; integers
// wrap.
ElementType ContractionType(ElementType product);

// Rounds a sum of products to `product` and then, if different, converts it to the result type.
absl::StatusOr<Literal> RoundedSum(const Literal& wide, ElementType product, const Shape& shape);

// Computes sum[i] += a * b[i] for n elements.
template <Wide W>
void AddScaled(W a, const W* b, int64_t n, W* sum) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<W, bool>) {
      sum[i] |= a & b[i];
    } else if constexpr (std::is_same_v<W, int64_t>) {
      sum[i] = static_cast<int64_t>(static_cast<uint64_t>(sum[i]) +
                                    static_cast<uint64_t>(a) * static_cast<uint64_t>(b[i]));
    } else {
      sum[i] += scalar::Multiply()(a, b[i]);
    }
  }
}

// The dimension numbers of one operand of a dot.
struct DotDims {
  Index batch, contracting, free;
};
DotDims LhsDims(const Instruction& dot);
DotDims RhsDims(const Instruction& dot);

// Returns sum[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n] with batch, free lhs and free rhs
// dimensions in this order. The contracting index k is row-major in the listed order of its dimensions. The
// result has the wide type `type`, to which the operands convert.
absl::StatusOr<Literal> DotSum(const Literal& lhs, const DotDims& l, const Literal& rhs, const DotDims& r,
                               ElementType type);

Index Concat(Index a, const Index& b, const Index& c);

}  // namespace hlo::reference
