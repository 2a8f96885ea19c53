#pragma once
// Lowers reductions of loop programs to the VM.

#include "kernels/cuda/vm/lower_loop.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Returns Unimplemented with a reason if the reduction must run on the CPU.
absl::StatusOr<LoweredProgram> LowerReduce(const loops::ReduceProgram& program,
                                           const device::DeviceProperties& device);

}  // namespace hlo::cuda
