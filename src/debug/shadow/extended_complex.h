#pragma once
// Complex numbers of double-doubles, and their transforms.

#include <optional>

#include "absl/status/statusor.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// Returns the result of an instruction with c128 operands or results, whose other floats are f64; nullopt if
// it has no form in double-double.
absl::StatusOr<std::optional<ExtendedValue>> ExtendedComplexResult(const RuleContext& context,
                                                                   absl::Span<const ShadowValue> operands);

}  // namespace hlo::debug
