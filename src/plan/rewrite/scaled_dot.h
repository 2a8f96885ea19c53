#pragma once
// Products of operands with scales.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// A scaled-dot as a module of its four operands: each times its scale, and then the dot of both (semantics
// 6.3). nullopt for truth values, for a float and an integer that give an integer, and for scales whose
// blocks do not fill their operand.
std::optional<CheckedModule> ProductOfScaled(const Instruction& scaled_dot);

}  // namespace hlo::plan
