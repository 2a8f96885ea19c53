#pragma once
// The kernels of sort and topk.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindSortKernel(const Instruction& sort, const DeviceProperties& device);
std::optional<CudaKernel> FindTopkKernel(const Instruction& topk, const DeviceProperties& device);

}  // namespace hlo::cuda
