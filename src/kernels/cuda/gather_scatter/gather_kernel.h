#pragma once
// The kernel of gather.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindGatherKernel(const Instruction& gather, const DeviceProperties& device);

}  // namespace hlo::cuda
