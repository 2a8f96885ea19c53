#include "plan/gpu/graph_capture.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "plan/analysis/counted_loops.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// The maximal number of launches in a captured iteration.
constexpr int64_t kMaxLaunches = 4096;
// A graph takes about as long to start as this many launches.
constexpr int64_t kMinLaunches = 3;

// Walks over the steps of one iteration, or of a plan. Its methods return false if the steps cannot be
// captured.
class Capture {
 public:
  Capture(const Plan& plan, const GpuPlan& gpu) : plan_(plan), gpu_(gpu) {}

  bool AddIteration(const LoopStep& loop) {
    return AddMoves(loop.next) && AddSteps(loop.condition) && AddSteps(loop.body) &&
           launches_ <= kMaxLaunches;
  }

  // Captures a plan without conditionals, which need all branches to have run.
  bool AddPlan() {
    return AddSteps(plan_.steps) && conditionals_.empty() && launches_ >= kMinLaunches &&
           launches_ <= kMaxLaunches;
  }

  std::vector<const Step*> conditionals() && { return std::move(conditionals_); }

 private:
  bool AddMoves(const std::vector<Move>& moves) {
    launches_ += 2 * static_cast<int64_t>(moves.size());
    return std::all_of(moves.begin(), moves.end(),
                       [&](const Move& move) { return CopiesBuffers(plan_, move); });
  }

  bool AddSteps(const std::vector<Step>& steps) {
    return std::all_of(steps.begin(), steps.end(), [&](const Step& step) { return Add(step); });
  }

  // A step can be captured if it only launches kernels, or is a conditional of such steps, or a loop whose
  // trip count is constant.
  bool Add(const Step& step) {
    const GpuStep& lowered = gpu_.steps.at(&step);
    if (lowered.fused_steps != nullptr) {
      launches_ += lowered.fused_steps->first == &step ? 1 : 0;
      return true;
    }
    if (const auto* conditional = std::get_if<BranchStep>(&step.what)) {
      conditionals_.push_back(&step);
      launches_ += 2;
      return std::all_of(conditional->branches.begin(), conditional->branches.end(),
                         [&](const auto& each) { return AddSteps(each.steps) && AddMoves(each.results); });
    }
    const auto* loop = std::get_if<LoopStep>(&step.what);
    if (loop != nullptr) return AddLoop(*loop);
    launches_ += std::max<int64_t>(1, static_cast<int64_t>(lowered.programs.size()));
    return lowered.reason.empty();
  }

  bool AddLoop(const LoopStep& loop) {
    if (!loop.counted.has_value() || !loop.counted->first_value.has_value() ||
        !loop.counted->limit_value.has_value() || !AddMoves(loop.initial))
      return false;
    const std::optional<int64_t> trip_count =
        TripCount(*loop.counted, *loop.counted->first_value, *loop.counted->limit_value);
    Capture iteration(plan_, gpu_);
    if (!trip_count.has_value() || !iteration.AddIteration(loop) ||
        *trip_count > kMaxLaunches / std::max<int64_t>(1, iteration.launches_))
      return false;
    launches_ += *trip_count * iteration.launches_;
    conditionals_.insert(conditionals_.end(), iteration.conditionals_.begin(), iteration.conditionals_.end());
    return true;
  }

  const Plan& plan_;
  const GpuPlan& gpu_;
  int64_t launches_ = 0;
  std::vector<const Step*> conditionals_;
};

}  // namespace

void FindCapturableLoops(const Plan& plan, GpuPlan* gpu) {
  for (auto& [step, lowered] : gpu->steps) {
    const auto* loop = std::get_if<LoopStep>(&step->what);
    if (loop == nullptr) continue;
    Capture capture(plan, *gpu);
    lowered.is_capturable = capture.AddIteration(*loop);
    lowered.conditionals = std::move(capture).conditionals();
  }
}

void FindCapturablePlan(const Plan& plan, GpuPlan* gpu) {
  gpu->is_capturable = Capture(plan, *gpu).AddPlan();
}

}  // namespace hlo::plan
