#pragma once
// Tile programs that only move elements: transposes, slices, reversals, updates of slices, parts of
// concatenations.

#include <optional>

#include "kernels/cuda/lower_tile.h"

namespace hlo::cuda {

// nullopt: the program does more, or has too many dimensions.
std::optional<LoweredProgram> LowerCopy(const cpu::TileProgram& program);

}  // namespace hlo::cuda
