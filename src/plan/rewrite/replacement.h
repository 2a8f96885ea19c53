#pragma once
// Modules of other instructions that stand for one.

#include <optional>
#include <vector>

#include "hlo_run/builder.h"
#include "hlo_run/check.h"

namespace hlo::plan {

// What was built, with this root, which takes the instruction's name. nullopt where it is no valid module, or
// the dimensions are others than those of the instruction's (first) result.
std::optional<CheckedModule> StandIn(build::Builder& builder, build::Op root, const Instruction& instruction);

// Dimension numbers as the builder takes them.
inline std::vector<int64_t> List(IntList numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace hlo::plan
