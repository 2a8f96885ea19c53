#pragma once
// Registry of the CUDA kernels that compute whole instructions; the counterpart of
// plan/select/library_kernels.h. The selection depends on the instruction and the device properties only, so
// results are reproducible.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/gemm/epilogue.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device);

// Returns the kernel of a dot or convolution with an epilogue (f32 accumulators only). The operands of `run`
// are the contraction's, followed by the epilogue's arrays.
std::optional<CudaKernel> FindKernelWithEpilogue(const Instruction& contraction, const Epilogue& epilogue,
                                                 const DeviceProperties& device);

}  // namespace hlo::cuda
