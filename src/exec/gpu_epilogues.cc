// Epilogue fusion: loops over the result of a dot or convolution that its kernel applies when it stores the
// result.

#include <algorithm>

#include "exec/gpu_executor.h"
#include "kernels/cuda/gemm/match_epilogue.h"
#include "plan/visit.h"

namespace hlo::exec {
namespace {

using plan::Slot;

// Counts the occurrences of each slot in steps, moves and results.
std::vector<int> CountUses(const plan::Plan& plan) {
  std::vector<int> uses(plan.buffers.size());
  const auto count = [&](Slot slot) {
    if (slot >= 0) ++uses[slot];
  };
  for (const Slot slot : plan.results) count(slot);
  VisitAllSlots(plan.steps, [&](Slot slot, bool) { count(slot); });
  return uses;
}

}  // namespace

void GpuExecutor::FuseEpilogues(const std::vector<plan::Step>& steps) {
  if (uses_.empty()) uses_ = CountUses(plan_);
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const auto* product = std::get_if<plan::KernelStep>(&steps[i].what);
    const auto* loop = std::get_if<plan::TileStep>(&steps[i + 1].what);
    if (product == nullptr || loop == nullptr || product->results.size() != 1 || loop->programs.size() != 1 ||
        loop->updated >= 0 || !prepared_.at(&steps[i + 1]).reason.empty())
      continue;
    const Slot result = product->results[0];
    const Shape& shape = steps[i].instruction->shape();
    if (result < 0 || !shape.IsArray()) continue;
    const std::optional<cuda::MatchedEpilogue> found =
        cuda::MatchEpilogue(loop->programs[0], result, shape.type(), *shape.ElementCount());
    // If the loop does not overwrite the product's result, that result must have no other use.
    if (!found.has_value() || (found->stored != result && uses_[result] != 2) ||
        std::find(product->operands.begin(), product->operands.end(), found->stored) !=
            product->operands.end())
      continue;
    std::optional<cuda::CudaKernel> kernel =
        cuda::FindKernelWithEpilogue(*steps[i].instruction, found->epilogue, gpu_->properties());
    if (!kernel.has_value()) continue;
    Prepared& prepared = prepared_.at(&steps[i]);
    prepared.name = kernel->name + " and the loop after it";
    prepared.fused = std::move(kernel);
    prepared.loop = &steps[i + 1];
    prepared.fused_operands.assign(product->operands.begin(), product->operands.end());
    prepared.fused_operands.insert(prepared.fused_operands.end(), found->arrays.begin(), found->arrays.end());
    prepared.fused_result = found->stored;
    prepared_.at(&steps[i + 1]).name = "in the product before it";
  }
}

// True if the loop's result overlaps operands of the product, for which it is their last use.
bool GpuExecutor::OverwritesOperands(const plan::KernelStep& product, Slot result) const {
  const auto* begin = static_cast<const std::byte*>(pointers_[result]);
  const std::byte* end = begin + plan_.buffers[result].byte_count;
  return std::any_of(product.operands.begin(), product.operands.end(), [&](Slot slot) {
    const auto* at = static_cast<const std::byte*>(pointers_[slot]);
    return at < end && begin < at + plan_.buffers[slot].byte_count;
  });
}

}  // namespace hlo::exec
