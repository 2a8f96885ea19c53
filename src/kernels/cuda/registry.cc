#include "kernels/cuda/registry.h"

#include "ir/element_types.h"

namespace hlo::cuda {

std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device) {
  if (MixesTypes(instruction)) return std::nullopt;
  switch (instruction.opcode()) {
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return FindBatchNormKernel(instruction, device);
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
      return FindBitcastKernel(instruction, device);
    case Opcode::kCholesky:
      return FindCholeskyKernel(instruction, device);
    case Opcode::kConvolution:
      return FindConvolutionKernel(instruction, device);
    case Opcode::kDot:
      return FindDotKernel(instruction, device);
    case Opcode::kFft:
      return FindFftKernel(instruction, device);
    case Opcode::kGather:
      return FindGatherKernel(instruction, device);
    case Opcode::kRaggedDot:
      return FindRaggedDotKernel(instruction, device);
    case Opcode::kScatter:
      return FindScatterKernel(instruction, device);
    case Opcode::kReduceWindow:
      return FindReduceWindowKernel(instruction, device);
    case Opcode::kSelectAndScatter:
      return FindSelectAndScatterKernel(instruction, device);
    case Opcode::kRng:
      return FindDrawKernel(instruction, device);
    case Opcode::kRngGetAndUpdateState:
      return FindAdvanceKernel(instruction, device);
    case Opcode::kRngBitGenerator:
      return FindRandomBitsKernel(instruction, device);
    case Opcode::kShuffle:
      return FindShuffleKernel(instruction, device);
    case Opcode::kSort:
      return FindSortKernel(instruction, device);
    case Opcode::kTopk:
      return FindTopkKernel(instruction, device);
    case Opcode::kTriangularSolve:
      return FindTriangularSolveKernel(instruction, device);
    default:
      return std::nullopt;
  }
}

}  // namespace hlo::cuda
