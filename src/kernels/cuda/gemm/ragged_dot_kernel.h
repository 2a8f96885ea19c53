#pragma once
// The kernel of ragged-dot.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindRaggedDotKernel(const Instruction& dot, const DeviceProperties& device);

}  // namespace hlo::cuda
