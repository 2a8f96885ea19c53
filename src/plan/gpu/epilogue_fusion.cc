#include "plan/gpu/epilogue_fusion.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/registry.h"
#include "plan/analysis/elementwise_loop.h"
#include "plan/gpu/match_epilogue.h"
#include "plan/gpu/slot_uses.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Returns the kernel of `contraction` with the loop as its epilogue.
std::optional<GpuStep::WithEpilogue> FuseLoop(const Step& contraction, const Step& next,
                                              const std::vector<int>& uses,
                                              const device::DeviceProperties& device) {
  const auto* kernel_step = std::get_if<KernelStep>(&contraction.what);
  const loops::LoopProgram* loop = SingleLoop(next);
  if (kernel_step == nullptr || loop == nullptr || kernel_step->results.size() != 1) return std::nullopt;
  const Slot result = kernel_step->results[0];
  const Shape& shape = contraction.instruction->shape();
  if (result < 0 || !shape.IsArray()) return std::nullopt;
  const std::optional<MatchedEpilogue> matched =
      MatchEpilogue(*loop, result, shape.type(), *shape.ElementCount());
  const std::vector<Slot>& operands = kernel_step->operands;
  // If the loop does not overwrite the contraction's result, that result must have no other use.
  if (!matched.has_value() || (matched->stored != result && uses[result] != 2) ||
      std::find(operands.begin(), operands.end(), matched->stored) != operands.end())
    return std::nullopt;
  std::optional<cuda::CudaKernel> kernel =
      cuda::FindKernelWithEpilogue(*contraction.instruction, matched->epilogue, device);
  if (!kernel.has_value()) return std::nullopt;
  GpuStep::WithEpilogue fused{*std::move(kernel), &next, operands, matched->stored};
  fused.operands.insert(fused.operands.end(), matched->arrays.begin(), matched->arrays.end());
  return fused;
}

}  // namespace

void FuseEpilogues(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu) {
  const std::vector<int> uses = CountUses(plan);
  VisitStepLists(plan.steps, [&](const std::vector<Step>& steps) {
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      GpuStep &contraction = gpu->steps.at(&steps[i]), &loop = gpu->steps.at(&steps[i + 1]);
      if (!loop.reason.empty()) continue;
      std::optional<GpuStep::WithEpilogue> fused = FuseLoop(steps[i], steps[i + 1], uses, device);
      if (!fused.has_value()) continue;
      contraction.name = fused->kernel.name + " and the loop after it";
      contraction.with_epilogue = std::move(fused);
      loop.name = "in the product before it";
    }
  });
}

}  // namespace hlo::plan
