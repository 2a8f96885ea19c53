#include "kernels/cuda/registry.h"

namespace hlo::cuda {

std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device) {
  switch (instruction.opcode()) {
    case Opcode::kConvolution:
      return FindConvolutionKernel(instruction, device);
    case Opcode::kDot:
      return FindDotKernel(instruction, device);
    case Opcode::kFft:
      return FindFftKernel(instruction, device);
    case Opcode::kRngBitGenerator:
      return FindRandomBitsKernel(instruction, device);
    default:
      return std::nullopt;
  }
}

}  // namespace hlo::cuda
