#pragma once
// The kernels of batch normalisation.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindBatchNormKernel(const Instruction& batch_norm, const DeviceProperties& device);

}  // namespace hlo::cuda
