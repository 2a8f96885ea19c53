#pragma once
// Lowers tile programs that only copy elements: transposes, slices, reversals, slice updates, pieces of
// concatenations.

#include <optional>

#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cuda/launch/lowered_program.h"

namespace hlo::cuda {

// Returns nullopt if the program does more than copy or has too many dimensions.
std::optional<LoweredProgram> LowerCopy(const cpu::TileProgram& program);

}  // namespace hlo::cuda
