#pragma once
// What the dots and convolution share: the wide type in which they compute, the product that they repeat, and
// the one rounding that ends the sum (semantics 6.1).

#include <complex>
#include <cstdint>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "reference/arrays.h"
#include "types/dispatch.h"
#include "types/index.h"

namespace hlo::reference {

// The wide type in which products of this type are summed. Operands are converted to it exactly, integers wrap.
ElementType ContractionType(ElementType product);

// Returns a sum of products rounded to `product` and then, where that differs, converted to the result's type.
absl::StatusOr<Literal> RoundedSum(const Literal& wide, ElementType product, const Shape& shape);

// sum[i] += a * b[i] for each of n elements.
template <Wide W>
void AddScaled(W a, const W* b, int64_t n, W* sum) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<W, bool>) {
      sum[i] |= a & b[i];
    } else if constexpr (std::is_same_v<W, int64_t>) {
      sum[i] = static_cast<int64_t>(static_cast<uint64_t>(sum[i]) +
                                    static_cast<uint64_t>(a) * static_cast<uint64_t>(b[i]));
    } else {
      sum[i] += a * b[i];
    }
  }
}

// The dimensions of one operand of a dot, by what the dot does with them.
struct DotDims {
  Index batch, contracting, free;
};
DotDims LhsDims(const Instruction& dot);
DotDims RhsDims(const Instruction& dot);

// sum[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], in the order of batch, free lhs and free rhs
// dimensions. Contracting positions k are row-major in the order in which their dimensions are listed. Both
// arrays, and the sum, are of one wide type.
absl::StatusOr<Literal> DotSum(const Literal& lhs, const DotDims& l, const Literal& rhs, const DotDims& r);

Index Concat(Index a, const Index& b, const Index& c);

}  // namespace hlo::reference
