#pragma once
// Shadow rules for sums of many terms and for sorts, and estimates for other instructions.

#include <complex>
#include <vector>

#include "debug/shadow_rules.h"

namespace hlo::debug {

// Reads an array of f64 or c128 elements as real numbers: complex numbers as their modulus, and a single
// element as every element.
class ElementView {
 public:
  explicit ElementView(const Literal& array)
      : data_(array.data()),
        is_scalar_(array.element_count() == 1),
        is_complex_(array.type() == ElementType::kC128) {}
  double operator[](int64_t i) const {
    const int64_t at = is_scalar_ ? 0 : i;
    if (is_complex_) return std::abs(reinterpret_cast<const std::complex<double>*>(data_)[at]);
    return reinterpret_cast<const double*>(data_)[at];
  }

 private:
  const std::byte* data_;
  bool is_scalar_, is_complex_;
};

// Converts an array to f64; complex numbers lose their imaginary part, which bounds do not have.
absl::StatusOr<Literal> ToF64(const Literal& array);
absl::StatusOr<Literal> AsWideType(const Literal& array, ElementType wide_type);
std::vector<Literal> WideOperandsOf(const RuleContext& context);

// Applies the same data movement to the value and to the bound.
absl::StatusOr<ShadowValue> MovementRule(RuleContext& context);
// Uses sum |a| |b|, which bounds the rounding of a sum of products in any order.
absl::StatusOr<ShadowValue> ContractionRule(RuleContext& context);
absl::StatusOr<ShadowValue> ReductionRule(RuleContext& context);
absl::StatusOr<ShadowValue> ScatterRule(RuleContext& context);
absl::StatusOr<ShadowValue> SelectAndScatterRule(RuleContext& context);
absl::StatusOr<ShadowValue> FftRule(RuleContext& context);
// Computes the bound of an elementwise operation on complex numbers; `result` has the wide value.
absl::StatusOr<ShadowValue> ComplexRule(RuleContext& context, ShadowValue result);
// Applies the permutation of the declared keys to the wide values.
absl::StatusOr<ShadowValue> SortRule(RuleContext& context);
absl::StatusOr<ShadowValue> TopkRule(RuleContext& context);
// Estimates the bound from the results of perturbed operands.
absl::StatusOr<ShadowValue> PerturbationRule(RuleContext& context);
// Does the same for instructions that support only the declared types.
absl::StatusOr<ShadowValue> AnchoredPerturbationRule(RuleContext& context);

}  // namespace hlo::debug
