#pragma once
// What runs of a plan share, on whatever device: the arguments' leaves, the limits of steps and time, and
// which branch a conditional takes.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/run.h"
#include "plan/plan.h"

namespace hlo::exec {

// In order; tokens count.
std::vector<const Literal*> Leaves(absl::Span<const Literal> values);

// The limits of one run.
class StepLimits {
 public:
  StepLimits() = default;
  explicit StepLimits(const EvaluateOptions& options)
      : max_steps_(options.max_steps), has_deadline_(options.max_seconds > 0 || options.cancel != nullptr) {}
  // Before each step. ResourceExhausted: one too many; DeadlineExceeded: too late.
  absl::Status Take() { return max_steps_ > 0 || has_deadline_ ? Count() : absl::OkStatus(); }

 private:
  absl::Status Count();

  int64_t max_steps_ = 0, taken_ = 0;
  bool has_deadline_ = false;
};

// The trip count of a loop that is about to begin, or runs. `value` gives the number in a slot, nullopt where
// it cannot be read.
std::optional<int64_t> TripCount(
    const plan::LoopStep& loop,
    absl::FunctionRef<std::optional<int64_t>(plan::Slot slot, ElementType type)> value);

// Of an s32 choice, or of a pred as 0 or 1: true takes the first branch, and what is out of range the last.
const plan::BranchStep::Branch& TakenBranch(const plan::BranchStep& branch, int32_t choice);

}  // namespace hlo::exec
