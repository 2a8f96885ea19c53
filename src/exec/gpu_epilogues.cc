// Loops over the result of a dot or convolution that its kernel does to the elements on their way out.

#include <algorithm>

#include "exec/gpu_executor.h"
#include "kernels/cuda/find_epilogue.h"

namespace hlo::exec {
namespace {

using plan::Move;
using plan::Slot;

// How often steps, moves and results name each slot.
class SlotUses {
 public:
  explicit SlotUses(const plan::Plan& plan) : uses_(plan.buffers.size()) {
    for (const Slot slot : plan.results) Count(slot);
    Count(plan.steps);
  }
  int operator[](Slot slot) const { return uses_[slot]; }

 private:
  void Count(Slot slot) {
    if (slot >= 0) ++uses_[slot];
  }
  void Count(const std::vector<Slot>& slots) {
    for (const Slot slot : slots) Count(slot);
  }
  void Count(const std::vector<Move>& moves) {
    for (const Move& move : moves) Count({move.to, move.from});
  }
  void Count(const cpu::TileProgram& program) {
    program.VisitAccesses([&](const cpu::Access& access, bool) {
      if (access.IsArray()) Count(access.argument);
      VisitOthers(access, [&](int32_t argument) { Count(argument); });
    });
  }
  void Count(const plan::LoopStep& loop) {
    Count(loop.initial);
    Count(loop.next);
    Count(loop.predicate);
    Count(loop.condition);
    Count(loop.body);
  }
  void Count(const plan::BranchStep& branch) {
    Count(branch.choice);
    for (const plan::BranchStep::Branch& each : branch.branches) {
      Count(each.steps);
      Count(each.results);
    }
  }
  void Count(const std::vector<plan::Step>& steps) {
    for (const plan::Step& step : steps) {
      if (const auto* tiles = std::get_if<plan::TileStep>(&step.what)) {
        for (const cpu::TileProgram& program : tiles->programs) Count(program);
      } else if (const auto* reduce = std::get_if<plan::ReduceStep>(&step.what)) {
        Count(reduce->program.body);
        for (const cpu::ReduceProgram::Result& result : reduce->program.results) {
          Count(result.init);
          Count(result.output);
        }
      } else if (const auto* kernel = std::get_if<plan::KernelStep>(&step.what)) {
        Count(kernel->operands);
        Count(kernel->results);
      } else if (const auto* reference = std::get_if<plan::ReferenceStep>(&step.what)) {
        Count(reference->operands);
        Count(reference->results);
      } else if (const auto* loop = std::get_if<plan::LoopStep>(&step.what)) {
        Count(*loop);
      } else if (const auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
        Count(*branch);
      }
    }
  }

  std::vector<int> uses_;
};

}  // namespace

void GpuExecutor::FuseEpilogues(const std::vector<plan::Step>& steps) {
  if (uses_.empty()) {
    const SlotUses uses(plan_);
    for (size_t slot = 0; slot < plan_.buffers.size(); ++slot) uses_.push_back(uses[static_cast<Slot>(slot)]);
  }
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const auto* product = std::get_if<plan::KernelStep>(&steps[i].what);
    const auto* loop = std::get_if<plan::TileStep>(&steps[i + 1].what);
    if (product == nullptr || loop == nullptr || product->results.size() != 1 || loop->programs.size() != 1 ||
        loop->updated >= 0 || !prepared_.at(&steps[i + 1]).reason.empty())
      continue;
    const Slot result = product->results[0];
    const Shape& shape = steps[i].instruction->shape();
    if (result < 0 || !shape.IsArray()) continue;
    const std::optional<cuda::FoundEpilogue> found =
        cuda::FindEpilogue(loop->programs[0], result, shape.type(), *shape.ElementCount());
    // What the loop does not overwrite, nobody else may want.
    if (!found.has_value() || (found->stored != result && uses_[result] != 2) ||
        std::find(product->operands.begin(), product->operands.end(), found->stored) !=
            product->operands.end())
      continue;
    std::optional<cuda::CudaKernel> kernel =
        cuda::FindProductKernel(*steps[i].instruction, found->epilogue, gpu_->properties());
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

// The loop's result may lie where operands of the product do, which are read for the last time.
bool GpuExecutor::OverwritesOperands(const plan::KernelStep& product, Slot result) const {
  const auto* begin = static_cast<const std::byte*>(pointers_[result]);
  const std::byte* end = begin + plan_.buffers[result].byte_count;
  return std::any_of(product.operands.begin(), product.operands.end(), [&](Slot slot) {
    const auto* at = static_cast<const std::byte*>(pointers_[slot]);
    return at < end && begin < at + plan_.buffers[slot].byte_count;
  });
}

}  // namespace hlo::exec
