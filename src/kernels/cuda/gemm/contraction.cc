#include "kernels/cuda/gemm/contraction.h"

#include <utility>

#include "base/status.h"
#include "kernels/cuda/gemm/f32_tma_plan.h"

namespace hlo::cuda {

bool SupportsContraction(const Instruction& instruction) {
  return instruction.operand_count() == 2 &&
         loops::GemmSupports(instruction.operand(0)->shape().type(), instruction.operand(1)->shape().type(),
                             instruction.shape().type());
}

ElementType AccumulatorTypeOf(const Instruction& instruction) {
  return loops::GemmComputeType(instruction.operand(0)->shape().type(),
                                instruction.operand(1)->shape().type(), instruction.shape().type());
}

bool AddContraction(const Gemm& gemm, ElementType compute, const std::optional<TensorForm>& form,
                    const DeviceProperties& device, StepList* list) {
  const GemmMethod method = MethodFor(gemm, compute, device);
  const bool has_tiles = method != GemmMethod::kElements && method != GemmMethod::kThin;
  if (form.has_value() && has_tiles && AddTensorCoreGemm(gemm, compute, *form, list)) return true;
  const bool is_f32 = method == GemmMethod::kF32Large || method == GemmMethod::kF32Small;
  if (is_f32 && AddF32TmaGemm(gemm, device, list)) return true;
  return AddGemm(gemm, compute, method, list);
}

CudaKernel KernelOf(StepList list) {
  CudaKernel kernel{.name = list.name, .workspace_bytes = list.workspace_bytes};
  kernel.run = [steps = std::move(list.steps)](absl::Span<const void* const> operands,
                                               absl::Span<void* const> results, void* workspace,
                                               Stream stream) {
    const StepArrays arrays{operands[0], operands[1],        results[0], static_cast<std::byte*>(workspace),
                            stream,      operands.subspan(2)};
    for (const KernelStep& step : steps) HLO_RETURN_IF_ERROR(step(arrays));
    return absl::OkStatus();
  };
  return kernel;
}

}  // namespace hlo::cuda
