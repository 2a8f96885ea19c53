#pragma once
// Expands scaled dots.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites a scaled-dot as a module of its four operands that multiplies both operands by their scales and
// contracts them (semantics 6.3). Returns nullopt for operands of type pred, for a float and an integer with
// an integer result, and for scales whose blocks do not divide their operand.
std::optional<CheckedModule> ExpandScaledDot(const Instruction& scaled_dot);

}  // namespace hlo::plan
