#pragma once
// The device-independent parts of a run: the arguments' leaves, limits of steps and time, and branch
// selection.

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

// Returns the leaves in order, including tokens.
std::vector<const Literal*> Leaves(absl::Span<const Literal> values);

// The limits of one run.
class StepLimits {
 public:
  StepLimits() = default;
  explicit StepLimits(const EvaluateOptions& options)
      : max_steps_(options.max_steps), has_deadline_(options.max_seconds > 0 || options.cancel != nullptr) {}
  bool has_any() const { return max_steps_ > 0 || has_deadline_; }
  // Called before each step if there is a limit. Returns ResourceExhausted if the step limit is exceeded,
  // DeadlineExceeded after the deadline.
  absl::Status CountStep();

 private:
  int64_t max_steps_ = 0, taken_ = 0;
  bool has_deadline_ = false;
};

// Returns the trip count of a loop that is about to start or running; nullopt if it is unknown. `value`
// returns the number in a slot, or nullopt if it cannot be read.
std::optional<int64_t> TripCount(
    const plan::LoopStep& loop,
    absl::FunctionRef<std::optional<int64_t>(plan::Slot slot, ElementType type)> value);

// Returns the branch that `choice` selects: an s32, or a pred as 0 or 1. True selects the first branch;
// values out of range select the last.
const plan::BranchStep::Branch& TakenBranch(const plan::BranchStep& branch, int32_t choice);

// Refuses a value that does not fit the buffer of its slot.
absl::Status CheckSize(const Literal& value, const plan::Buffer& buffer);

}  // namespace hlo::exec
