#pragma once
// The kernels of rng-bit-generator, rng and rng-get-and-update-state.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindRandomBitsKernel(const Instruction& rng_bit_generator,
                                               const DeviceProperties& device);
std::optional<CudaKernel> FindDrawKernel(const Instruction& rng, const DeviceProperties& device);
std::optional<CudaKernel> FindAdvanceKernel(const Instruction& rng_get_and_update_state,
                                            const DeviceProperties& device);

}  // namespace hlo::cuda
