#pragma once
// Shadow rules for sums of many terms and for sorts, and estimates for other instructions.

#include <complex>
#include <vector>

#include "debug/shadow/shadow_rules.h"

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

// True if the root applies an opcode to the two parameters.
bool AppliesToParameters(const Computation& computation, Opcode opcode);

// Returns bound + factor * |value|, the error of a term whose sum may take any order.
absl::StatusOr<Literal> TermError(const ShadowValue& value, double factor);
// Adds the rounding of the result to its type.
void AddRounding(const ShadowValue& value, Literal& bound);
// Returns the own error of a sum of terms of these magnitudes, with its rounding.
absl::StatusOr<Literal> SumError(const ShadowValue& value, double factor, const Literal& magnitudes);
// Returns the element with the largest relative bound and how much larger its terms are than itself; the sum
// of their magnitudes is `scale` times `magnitudes`.
IllCondition SumCondition(const ShadowValue& value, const Literal& inherited, const Literal& magnitudes,
                          double scale = 1);

// The number of perturbed evaluations from which a bound is estimated.
inline constexpr int64_t kPerturbations = 4;
// Signs that are the same in every run.
class PerturbationSigns {
 public:
  explicit PerturbationSigns(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  double Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ & 1) != 0 ? 1 : -1;
  }

 private:
  uint64_t state_;
};
// Moves each element by its bound and a rounding of the type, up or down.
absl::StatusOr<Literal> Perturbed(const ShadowValue& operand, double epsilon, PerturbationSigns& signs);
// Sets the bound of a float leaf from its wide values for perturbed operands.
absl::Status EstimateBound(ShadowValue& leaf, absl::Span<const Literal> perturbed);

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
// Does the same for reducers, but with results of perturbed operands in the declared types, whose distance to
// the wide value includes the rounding after each application of the reducer.
absl::StatusOr<ShadowValue> ReducerRule(RuleContext& context);
// Does the same as PerturbationRule for instructions that support only the declared types.
absl::StatusOr<ShadowValue> AnchoredPerturbationRule(RuleContext& context);
// Estimates the bound like PerturbationRule, and adds the error of cancellation in the variance.
absl::StatusOr<ShadowValue> BatchNormTrainingRule(RuleContext& context);

}  // namespace hlo::debug
