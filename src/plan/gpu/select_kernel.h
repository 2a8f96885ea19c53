#pragma once
// Selects the GPU kernel of an instruction.

#include <optional>

#include "device/properties.h"
#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::plan {

// Returns the kernel of the registry, or one with the instruction's to_apply as user-defined combiner;
// nullopt if there is none.
std::optional<cuda::CudaKernel> FindGpuKernel(const Instruction& instruction,
                                              const device::DeviceProperties& device);

}  // namespace hlo::plan
