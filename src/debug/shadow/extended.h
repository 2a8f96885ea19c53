#pragma once
// Results of f64 instructions in double-double.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/shadow/shadow_rules.h"

namespace hlo::debug {

// The value high + low, both f64.
struct ExtendedValue {
  Literal high, low;
};

// The arrays of a result, in order. Those of other types than f64 are invalid.
using ExtendedValues = std::vector<ExtendedValue>;

// Returns the result for the wide operands with their low parts. Returns nullopt if the result has no f64, or
// if the instruction has no form in double-double; the wide value of the result is then an f64.
absl::StatusOr<std::optional<ExtendedValues>> ExtendedResult(const RuleContext& context,
                                                             absl::Span<const ShadowValue> operands);

// True for instructions that apply computations to scalars.
bool AppliesScalarComputations(const Instruction& instruction);

}  // namespace hlo::debug
