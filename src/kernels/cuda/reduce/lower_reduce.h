#pragma once
// Lowers reductions of tile programs to the VM.

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cuda/vm/lower_tile.h"

namespace hlo::cuda {

// Returns Unimplemented with a reason if the reduction must run on the CPU.
absl::StatusOr<LoweredProgram> LowerReduce(const cpu::ReduceProgram& program,
                                           const device::DeviceProperties& device);

}  // namespace hlo::cuda
