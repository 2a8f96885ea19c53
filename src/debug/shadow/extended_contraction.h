#pragma once
// Dots, convolutions and sums in double-double.

#include <optional>

#include "absl/status/statusor.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// Return the result for the wide operands with their low parts; nullopt if there is no form in double-double.
// The operands are f64, or f64 and c128 if T is ComplexDoubleDouble instead of DoubleDouble.
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedDot(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands);
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedRaggedDot(const RuleContext& context,
                                                               absl::Span<const ShadowValue> operands);
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedConvolution(const RuleContext& context,
                                                                 absl::Span<const ShadowValue> operands);
// The sum of a reduce.
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedSum(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands);

}  // namespace hlo::debug
