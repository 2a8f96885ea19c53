#include "kernels/cuda/registry.h"

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
#include "kernels/cuda/reduce/batch_norm_kernel.h"
#include "kernels/cuda/sort/sort_kernels.h"
#include "kernels/cuda/window/window_kernels.h"

namespace hlo::cuda {
namespace {

// Convolutions of one input feature per filter have a kernel of their own.
std::optional<CudaKernel> FindAnyConvolutionKernel(const Instruction& convolution,
                                                   const DeviceProperties& device) {
  if (SupportsContraction(convolution)) {
    if (std::optional<CudaKernel> depthwise = FindDepthwiseKernel(convolution); depthwise.has_value())
      return depthwise;
  }
  return FindConvolutionKernel(convolution, {}, device);
}

std::optional<CudaKernel> FindPlainDotKernel(const Instruction& dot, const DeviceProperties& device) {
  return FindDotKernel(dot, {}, device);
}

struct Row {
  Opcode opcode;
  std::optional<CudaKernel> (*find)(const Instruction& instruction, const DeviceProperties& device);
};
constexpr Row kKernels[] = {
    {Opcode::kBatchNormGrad, &FindBatchNormKernel},
    {Opcode::kBatchNormInference, &FindBatchNormKernel},
    {Opcode::kBatchNormTraining, &FindBatchNormKernel},
    {Opcode::kBitcast, &FindBitcastKernel},
    {Opcode::kBitcastConvert, &FindBitcastKernel},
    {Opcode::kCholesky, &FindCholeskyKernel},
    {Opcode::kConvolution, &FindAnyConvolutionKernel},
    {Opcode::kDot, &FindPlainDotKernel},
    {Opcode::kFft, &FindFftKernel},
    {Opcode::kGather, &FindGatherKernel},
    {Opcode::kRaggedDot, &FindRaggedDotKernel},
    {Opcode::kScatter, &FindScatterKernel},
    {Opcode::kReduceWindow, &FindReduceWindowKernel},
    {Opcode::kSelectAndScatter, &FindSelectAndScatterKernel},
    {Opcode::kRng, &FindDrawKernel},
    {Opcode::kRngGetAndUpdateState, &FindAdvanceKernel},
    {Opcode::kRngBitGenerator, &FindRandomBitsKernel},
    {Opcode::kShuffle, &FindShuffleKernel},
    {Opcode::kSort, &FindSortKernel},
    {Opcode::kTopk, &FindTopkKernel},
    {Opcode::kTriangularSolve, &FindTriangularSolveKernel},
};

}  // namespace

std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device) {
  if (MixesTypes(instruction)) return std::nullopt;
  for (const Row& row : kKernels) {
    if (row.opcode == instruction.opcode()) return row.find(instruction, device);
  }
  return std::nullopt;
}

std::optional<CudaKernel> FindKernelWithEpilogue(const Instruction& contraction, const Epilogue& epilogue,
                                                 const DeviceProperties& device) {
  if (!SupportsContraction(contraction) || AccumulatorTypeOf(contraction) != ElementType::kF32)
    return std::nullopt;
  if (contraction.opcode() == Opcode::kDot) return FindDotKernel(contraction, epilogue, device);
  if (contraction.opcode() != Opcode::kConvolution || FindDepthwiseKernel(contraction).has_value())
    return std::nullopt;
  return FindConvolutionKernel(contraction, epilogue, device);
}

}  // namespace hlo::cuda
