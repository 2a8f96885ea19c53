#pragma once
// Calls of libraries that say what instructions of HLO can say.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// A module of the call's operands whose result is the call's first one: a product of cuBLAS or a convolution
// of cuDNN, scaled, added to and bent as its configuration says. It computes in f32, or in f64 where an
// operand or the result is f64. nullopt: the reference's function for the call says more.
std::optional<CheckedModule> AsInstructions(const Instruction& call);

}  // namespace hlo::plan
