#pragma once
// Results of f64 instructions in double-double.

#include <optional>

#include "absl/status/statusor.h"
#include "debug/shadow_rules.h"

namespace hlo::debug {

// The value high + low, both f64.
struct ExtendedValue {
  Literal high, low;
};

// Returns the result for the wide operands with their low parts; nullopt if the result is not f64, or if the
// instruction is not implemented in double-double; its wide value is then an f64.
absl::StatusOr<std::optional<ExtendedValue>> ExtendedResult(const RuleContext& context,
                                                            absl::Span<const ShadowValue> operands);

}  // namespace hlo::debug
