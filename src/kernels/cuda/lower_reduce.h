#pragma once
// Reductions of tile programs on the GPU.

#include "kernels/cpu/reduce_program.h"
#include "kernels/cuda/lower_tile.h"

namespace hlo::cuda {

// Unimplemented, and why: the CPU runs it.
absl::StatusOr<LoweredProgram> LowerReduce(const cpu::ReduceProgram& program,
                                           const device::DeviceProperties& device);

}  // namespace hlo::cuda
