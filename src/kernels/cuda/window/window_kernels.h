#pragma once
// The kernels of reduce-window and select-and-scatter.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindReduceWindowKernel(const Instruction& reduce_window,
                                                 const DeviceProperties& device);
std::optional<CudaKernel> FindSelectAndScatterKernel(const Instruction& select_and_scatter,
                                                     const DeviceProperties& device);

}  // namespace hlo::cuda
