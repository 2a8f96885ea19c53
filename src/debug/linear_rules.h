#pragma once
// Rules for sums of many terms, for sorts, and estimates for the rest.

#include <complex>
#include <vector>

#include "debug/shadow_rules.h"

namespace hlo::debug {

// Reads an array of f64 or c128 elements as real numbers; one element stands for all, complex numbers for
// their modulus.
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

// The value and the bound move together.
absl::StatusOr<ShadowValue> MovementRule(RuleContext& context);
// sum |a| |b| bounds the rounding of a sum of products in any order.
absl::StatusOr<ShadowValue> ContractionRule(RuleContext& context);
absl::StatusOr<ShadowValue> ReductionRule(RuleContext& context);
absl::StatusOr<ShadowValue> ScatterRule(RuleContext& context);
absl::StatusOr<ShadowValue> SelectAndScatterRule(RuleContext& context);
absl::StatusOr<ShadowValue> FftRule(RuleContext& context);
// Elementwise operations on complex numbers: `result` has the wide value.
absl::StatusOr<ShadowValue> ComplexRule(RuleContext& context, ShadowValue result);
// The wide values follow the permutation that the declared keys decide.
absl::StatusOr<ShadowValue> SortRule(RuleContext& context);
absl::StatusOr<ShadowValue> TopkRule(RuleContext& context);
// Estimates the bound from the results of perturbed operands.
absl::StatusOr<ShadowValue> PerturbationRule(RuleContext& context);
// Likewise for instructions that take only the declared types.
absl::StatusOr<ShadowValue> AnchoredPerturbationRule(RuleContext& context);

}  // namespace hlo::debug
