#pragma once
// The kernel of scatter.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindScatterKernel(const Instruction& scatter, const DeviceProperties& device);

}  // namespace hlo::cuda
