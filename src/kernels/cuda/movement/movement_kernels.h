#pragma once
// The kernels of bitcast, bitcast-convert, shuffle, replica-id and partition-id.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindBitcastKernel(const Instruction& bitcast, const DeviceProperties& device);
std::optional<CudaKernel> FindShuffleKernel(const Instruction& shuffle, const DeviceProperties& device);

std::optional<CudaKernel> FindDeviceIdKernel(const Instruction& id, const DeviceProperties& device);

}  // namespace hlo::cuda
