#pragma once
// The kernel of depthwise convolutions, whose filters have one input feature each.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindDepthwiseKernel(const Instruction& convolution);

}  // namespace hlo::cuda
