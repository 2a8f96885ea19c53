#pragma once
// Lowers loop programs that only copy elements: transposes, slices, reversals, slice updates, pieces of
// concatenations.

#include <optional>

#include "kernels/cuda/launch/lowered_program.h"
#include "loops/loop_program.h"

namespace hlo::cuda {

// Returns nullopt if the program does more than copy or has too many dimensions.
std::optional<LoweredProgram> LowerCopy(const loops::LoopProgram& program);

}  // namespace hlo::cuda
