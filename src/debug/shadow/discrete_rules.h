#pragma once
// Integers and predicates that may differ in a legal evaluation, and what they select.

#include "absl/status/statusor.h"
#include "debug/shadow/shadow_rules.h"

namespace hlo::debug {

// Returns the declared result of a discrete type; its elements may differ where those of the operands do.
absl::StatusOr<ShadowValue> DiscreteResult(const RuleContext& context);

// True for an operand of a discrete type whose value may differ.
bool IsUncertainIndex(const ShadowValue& operand);

// Raises the bounds of the floats of a result which an instruction moves by uncertain indices: they may be
// any element of the operands. The other elements keep their bounds.
absl::Status BoundUncertainMove(const Instruction& instruction, absl::Span<const ShadowValue> operands,
                                ShadowValue& result);

}  // namespace hlo::debug
