#include "kernels/cuda/registry.h"

#include <array>

#include "ir/element_types.h"
#include "kernels/cuda/convolution/convolution_kernel.h"
#include "kernels/cuda/convolution/depthwise_kernel.h"
#include "kernels/cuda/fft/fft_kernel.h"
#include "kernels/cuda/gather_scatter/gather_kernel.h"
#include "kernels/cuda/gather_scatter/scatter_kernel.h"
#include "kernels/cuda/gemm/contraction.h"
#include "kernels/cuda/gemm/dot_kernel.h"
#include "kernels/cuda/gemm/ragged_dot_kernel.h"
#include "kernels/cuda/lapack/triangular_kernels.h"
#include "kernels/cuda/movement/movement_kernels.h"
#include "kernels/cuda/random/random_kernels.h"
#include "kernels/cuda/sort/sort_kernels.h"
#include "kernels/cuda/window/window_kernels.h"

namespace hlo::cuda {
namespace {

// Convolutions of one input feature per filter have a kernel of their own.
std::optional<CudaKernel> FindConvolutionKernel(const Instruction& convolution,
                                                const DeviceProperties& device) {
  if (SupportsContraction(convolution)) {
    if (std::optional<CudaKernel> depthwise = FindDepthwiseKernel(convolution); depthwise.has_value())
      return depthwise;
  }
  return cuda::FindConvolutionKernel(convolution, {}, device);
}

std::optional<CudaKernel> FindDotKernel(const Instruction& dot, const DeviceProperties& device) {
  return cuda::FindDotKernel(dot, {}, device);
}

std::optional<CudaKernel> FindNoneKernel(const Instruction& /*instruction*/,
                                         const DeviceProperties& /*device*/) {
  return std::nullopt;
}

using KernelFinder = std::optional<CudaKernel> (*)(const Instruction& instruction,
                                                   const DeviceProperties& device);

// Indexed by opcode.
constexpr std::array<KernelFinder, kOpcodeCount> kKernels = [] {
  std::array<KernelFinder, kOpcodeCount> kernels = {};
#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  kernels[static_cast<size_t>(Opcode::k##opcode)] = &Find##gpu##Kernel;
#include "kernels/kernels.def"
  return kernels;
}();

}  // namespace

std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device) {
  if (MixesTypes(instruction)) return std::nullopt;
  const KernelFinder find = kKernels[static_cast<size_t>(instruction.opcode())];
  return find == nullptr ? std::nullopt : find(instruction, device);
}

std::optional<CudaKernel> FindKernelWithEpilogue(const Instruction& contraction, const Epilogue& epilogue,
                                                 const DeviceProperties& device) {
  if (!SupportsContraction(contraction) || AccumulatorTypeOf(contraction) != ElementType::kF32)
    return std::nullopt;
  if (contraction.opcode() == Opcode::kDot) return cuda::FindDotKernel(contraction, epilogue, device);
  if (contraction.opcode() != Opcode::kConvolution || FindDepthwiseKernel(contraction).has_value())
    return std::nullopt;
  return cuda::FindConvolutionKernel(contraction, epilogue, device);
}

}  // namespace hlo::cuda
