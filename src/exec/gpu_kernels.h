#pragma once
// Selects the GPU kernel of an instruction.

#include <optional>

#include "kernels/cuda/registry.h"

namespace hlo::exec {

// Returns the kernel of the registry, or one with the instruction's to_apply as user-defined combiner;
// nullopt if there is none.
std::optional<cuda::CudaKernel> FindGpuKernel(const Instruction& instruction,
                                              const device::DeviceProperties& device);

}  // namespace hlo::exec
