#pragma once
// What dot and convolution share: the wide type in which they compute, and the step that they repeat.

#include <complex>
#include <cstdint>

#include "base/status.h"
#include "hlo_run/literal.h"
#include "reference/arrays.h"
#include "types/dispatch.h"

namespace hlo::reference {

// The wide type of the result's class: operands are converted to it exactly, integers wrap, and one rounding
// to the declared type ends the sum. Floats that give an integer compute as floats and are converted at the
// end.
inline ElementType ContractionType(ElementType lhs, ElementType rhs, ElementType result) {
  if (IsIntegral(result) && (IsFloat(lhs) || IsFloat(rhs))) return ElementType::kF64;
  return DispatchWide(result, []<class W>() { return WideType<W>(); });
}

// sum[i] += a * b[i] for each of n elements.
template <Wide W>
void AddScaled(W a, const W* b, int64_t n, W* sum) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<W, bool>)
      sum[i] |= a & b[i];
    else if constexpr (std::is_same_v<W, int64_t>)
      sum[i] = static_cast<int64_t>(uint64_t(sum[i]) + uint64_t(a) * uint64_t(b[i]));
    else
      sum[i] += a * b[i];
  }
}

// A sum of products, rounded once to the result's type; floats that give an integer go by way of f32.
inline absl::StatusOr<Literal> RoundedSum(const Literal& wide, ElementType lhs, ElementType rhs,
                                          const Shape& shape) {
  const bool floats_to_integer = IsFloat(lhs) && IsFloat(rhs) && IsIntegral(shape.type());
  if (!floats_to_integer) return Rounded(wide, shape);
  HLO_ASSIGN_OR_RETURN(const Literal f32, WithType(wide, ElementType::kF32));
  HLO_ASSIGN_OR_RETURN(const Literal exact, Widened(f32, ElementType::kF64));
  return Rounded(exact, shape);
}

}  // namespace hlo::reference
