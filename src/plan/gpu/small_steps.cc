#include "plan/gpu/small_steps.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kernels/cuda/steps/steps_builder.h"
#include "plan/analysis/window_update.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using cuda::StepsBuilder;

// More loops that can run concurrently are faster in a launch of their own.
constexpr size_t kMaxPieces = 8;

// Returns the loop that writes the window of a scatter into a copy of the operand.
loops::LoopProgram WindowLoop(const WindowUpdate& update, Slot indices, Slot updates, Slot result) {
  loops::LoopProgram program({}, {update.count});
  loops::Access window{.argument = result, .type = update.type, .inner = {1}};
  for (size_t k = 0; k < update.starts.size(); ++k) {
    window.starts.push_back(
        {indices, update.index_type, update.starts[k].max, update.starts[k].stride, static_cast<int64_t>(k)});
  }
  loops::Value value = program.Load({.argument = updates, .type = update.type, .inner = {1}});
  if (update.combine.has_value())
    value = program.Apply(*update.combine, loops::ComputeTypeOf(update.type), {program.Load(window), value});
  window.drops = true;
  program.Store(value, std::move(window));
  program.Finish();
  return program;
}

class SmallSteps {
 public:
  SmallSteps(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu)
      : plan_(plan), device_(device), gpu_(gpu) {
    for (const auto& [step, lowered] : gpu->steps) {
      if (lowered.with_epilogue.has_value()) in_epilogues_.insert(lowered.with_epilogue->loop);
    }
  }

  void Run(const std::vector<Step>& steps) {
    for (size_t first = 0; first < steps.size();) {
      const size_t end = FuseFrom(steps, first);
      if (end == first) VisitNestedSteps(steps[first], [&](const std::vector<Step>& nested) { Run(nested); });
      first = std::max(end, first + 1);
    }
  }

 private:
  // Fuses steps from `first` on. Returns the end of the fused steps; `first` if there are none.
  size_t FuseFrom(const std::vector<Step>& steps, size_t first) {
    StepsBuilder builder(device_);
    without_product_ = nullptr;
    size_t end = first;
    for (; end < steps.size(); ++end) {
      StepsBuilder longer = builder;
      if (!Add(steps[end], longer)) break;
      builder = std::move(longer);
    }
    const bool has_control_flow = std::any_of(steps.begin() + static_cast<ptrdiff_t>(first),
                                              steps.begin() + static_cast<ptrdiff_t>(end), IsControlFlow);
    if (builder.launch_count() < 2 && !has_control_flow) return first;
    const auto fused =
        std::make_shared<const FusedSteps>(FusedSteps{std::move(builder).Finish(), &steps[first]});
    for (size_t i = first; i < end; ++i) gpu_->steps.at(&steps[i]).fused_steps = fused;
    return end;
  }

  static bool IsControlFlow(const Step& step) {
    return std::holds_alternative<LoopStep>(step.what) || std::holds_alternative<BranchStep>(step.what);
  }

  // These functions append to the program. They return false if the steps do not fit.
  bool AddAll(const std::vector<Step>& steps, StepsBuilder& builder) {
    return std::all_of(steps.begin(), steps.end(), [&](const Step& step) { return Add(step, builder); });
  }

  bool Add(const Step& step, StepsBuilder& builder) {
    const GpuStep& lowered = gpu_->steps.at(&step);
    const bool is_in_epilogue = in_epilogues_.contains(&step) && &step != without_product_;
    if (lowered.fused_rows != nullptr || !lowered.reason.empty() || is_in_epilogue) return false;
    if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
      const bool is_concurrent = lowered.programs.size() < tiles->programs.size();
      return !(is_concurrent && tiles->programs.size() > kMaxPieces) && AddLoops(*tiles, builder);
    }
    if (const auto* reduce = std::get_if<ReduceStep>(&step.what))
      return builder.AddReduction(reduce->program);
    if (const auto* loop = std::get_if<LoopStep>(&step.what)) return AddLoop(*loop, builder);
    if (const auto* branch = std::get_if<BranchStep>(&step.what)) return AddBranch(*branch, builder);
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    if (kernel == nullptr) return false;
    return step.instruction->opcode() == Opcode::kDot ? AddDot(step, *kernel, builder)
                                                      : AddScatter(step, *kernel, builder);
  }

  bool AddDot(const Step& step, const KernelStep& kernel, StepsBuilder& builder) {
    if (kernel.operands.size() != 2 || kernel.results[0] < 0 ||
        !builder.AddDot(loops::DotProblem(*step.instruction), kernel.operands[0], kernel.operands[1],
                        kernel.results[0]))
      return false;
    const auto& with_epilogue = gpu_->steps.at(&step).with_epilogue;
    if (with_epilogue.has_value()) without_product_ = with_epilogue->loop;
    return true;
  }

  static bool AddLoops(const TileStep& tiles, StepsBuilder& builder) {
    for (size_t p = 0; p < tiles.programs.size(); ++p) {
      if (!builder.AddLoop(tiles.programs[p])) return false;
      if (p == 0 && tiles.updated >= 0) builder.SkipIfSame(tiles.updated, tiles.result);
    }
    return true;
  }

  // Only in place: otherwise the operand would have to be copied.
  static bool AddScatter(const Step& step, const KernelStep& kernel, StepsBuilder& builder) {
    if (step.instruction->opcode() != Opcode::kScatter || kernel.operands.size() != 3 ||
        kernel.operands[0] != kernel.results[0])
      return false;
    const std::optional<WindowUpdate> update = FindWindowUpdate(*step.instruction);
    return update.has_value() &&
           builder.AddLoop(WindowLoop(*update, kernel.operands[1], kernel.operands[2], kernel.results[0]));
  }

  bool AddMoves(const std::vector<Move>& moves, StepsBuilder& builder) {
    std::vector<StepsBuilder::ArgumentMove> added;
    for (const Move& move : moves) {
      if (!CopiesBuffers(plan_, move)) return false;
      if (move.to != move.from) added.push_back({move.to, move.from, plan_.buffers[move.to].byte_count});
    }
    return builder.AddMoves(added);
  }

  bool AddLoop(const LoopStep& loop, StepsBuilder& builder) {
    if (device_.limits_kernel_time || !AddMoves(loop.initial, builder)) return false;
    const StepsBuilder::Label body = builder.NewLabel(), condition = builder.NewLabel();
    if (!builder.Jump(condition)) return false;
    builder.Bind(body);
    if (!AddAll(loop.body, builder) || !AddMoves(loop.next, builder)) return false;
    builder.Bind(condition);
    return AddAll(loop.condition, builder) && builder.JumpIf(loop.predicate, body);
  }

  bool AddBranch(const BranchStep& branch, StepsBuilder& builder) {
    std::vector<StepsBuilder::Label> labels;
    for (size_t b = 0; b < branch.branches.size(); ++b) labels.push_back(builder.NewLabel());
    const StepsBuilder::Label end = builder.NewLabel();
    // A pred selects the first of two branches if it is true.
    const bool is_pred = branch.choice_type == ElementType::kPred;
    if (!(is_pred ? builder.JumpIf(branch.choice, labels[0]) && builder.Jump(labels[1])
                  : builder.Select(branch.choice, labels)))
      return false;
    for (size_t b = 0; b < branch.branches.size(); ++b) {
      builder.Bind(labels[b]);
      const BranchStep::Branch& each = branch.branches[b];
      if (!AddAll(each.steps, builder) || !AddMoves(each.results, builder) || !builder.Jump(end))
        return false;
    }
    builder.Bind(end);
    return true;
  }

  const Plan& plan_;
  const device::DeviceProperties& device_;
  GpuPlan* gpu_;
  absl::flat_hash_set<const Step*> in_epilogues_;
  // The loop of the epilogue of the last product that was appended, which is then a step of its own.
  const Step* without_product_ = nullptr;
};

}  // namespace

void FuseSmallSteps(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu) {
  SmallSteps(plan, device, gpu).Run(plan.steps);
}

}  // namespace hlo::plan
