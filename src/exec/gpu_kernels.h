#pragma once
// Which kernel computes an instruction on a GPU?

#include <optional>

#include "kernels/cuda/registry.h"

namespace hlo::exec {

// That of the registry, or one that runs the code of the instruction's to_apply; nullopt: none.
std::optional<cuda::CudaKernel> FindGpuKernel(const Instruction& instruction,
                                              const device::DeviceProperties& device);

}  // namespace hlo::exec
