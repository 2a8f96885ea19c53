#pragma once
// Modules that replace a single instruction.

#include <optional>
#include <vector>

#include "hlo_run/builder.h"
#include "hlo_run/check.h"

namespace hlo::plan {

// Builds the module with this root, which gets the instruction's name. Returns nullopt if it is invalid, or
// its dimensions differ from those of the instruction's (first) result.
std::optional<CheckedModule> BuildReplacement(build::Builder& builder, build::Op root,
                                              const Instruction& instruction);

// Converts dimension numbers to the builder's type.
inline std::vector<int64_t> ToVector(IntList numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace hlo::plan
