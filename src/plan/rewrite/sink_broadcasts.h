#pragma once
// Rewrites elementwise operations on broadcast scalars to operations on the scalars.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Returns a module that performs an elementwise instruction on scalars, one for each of its operands, and
// broadcasts the result to the instruction's shape.
std::optional<CheckedModule> SinkBroadcasts(const Instruction& elementwise);

}  // namespace hlo::plan
