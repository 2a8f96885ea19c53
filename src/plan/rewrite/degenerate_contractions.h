#pragma once
// Rewrites reductions and dots over dimensions of size 1 to elementwise operations.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites an elementwise reduction of one array over dimensions of size 1: returns a module that reshapes
// the operand to the result; to_apply of the initial value and the element remains. Returns nullopt for
// others.
std::optional<CheckedModule> ReplaceDegenerateReduce(const Instruction& reduce);

// Rewrites a dot that contracts dimensions of size 1: returns a module of its two operands that multiplies
// them, and adds 0 to floats. Returns nullopt for others.
std::optional<CheckedModule> ReplaceDegenerateDot(const Instruction& dot);

}  // namespace hlo::plan
