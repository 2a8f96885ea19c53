#include "kernels/cuda/registry.h"

#include "ir/element_types.h"

namespace hlo::cuda {
namespace {

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
    {Opcode::kConvolution, &FindConvolutionKernel},
    {Opcode::kDot, &FindDotKernel},
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

}  // namespace hlo::cuda
