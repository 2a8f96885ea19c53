#pragma once

#include <optional>

#include "hlo_run/check.h"
#include "hlo_run/module.h"

namespace hlo::plan {

// Returns a module of the operands and initial values that applies the combiner of a reduction in a counted
// loop, in row-major order. It replaces a reduction of many elements to at most a few, whose combiner is not
// known to be associative, so that kernels could only combine one element after the other.
std::optional<CheckedModule> ReplaceSequentialReduce(const Instruction& reduce);

}  // namespace hlo::plan
