#pragma once
// The kernel of convolution.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/gemm/epilogue.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction. Epilogues need f32 accumulators; their arrays follow
// the operands of `run`.
std::optional<CudaKernel> FindConvolutionKernel(const Instruction& convolution, const Epilogue& epilogue,
                                                const DeviceProperties& device);

}  // namespace hlo::cuda
