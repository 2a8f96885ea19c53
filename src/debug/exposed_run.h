#pragma once
// Runs in which an observer sees every instruction.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/execute.h"
#include "hlo_run/observer.h"

namespace hlo::debug {

// Returns planner options without the passes that fuse, move or remove instructions, replace them by loops or
// update arrays in place: every instruction on arrays is a step, and its operands are intact after it.
PlanOptions ExposingPlanOptions();

// The arguments of a run, in which the observer of the options sees one device.
struct WatchedArguments {
  WatchedArguments() = default;
  WatchedArguments(std::vector<Literal> arguments) : by_device{std::move(arguments)} {}

  std::vector<std::vector<Literal>> by_device;
  int64_t device = 0;
  DevicesOptions options;

  const std::vector<Literal>& watched() const { return by_device[static_cast<size_t>(device)]; }
};

// Runs the module on all devices. Returns the result of the watched one.
absl::StatusOr<Literal> RunWatched(Executable& executable, const WatchedArguments& arguments,
                                   const EvaluateOptions& options);

// Runs the module with the observer of `options`. On the fast engine every instruction on arrays is a step.
absl::StatusOr<Literal> RunExposed(const CheckedModule& module, const WatchedArguments& arguments,
                                   Engine engine, const EvaluateOptions& options);

// Calls a function with each array that a run writes.
class ArrayWatcher : public Observer {
 public:
  // `leaf` is the number of the array in the instruction's result.
  using See = std::function<absl::Status(const Instruction* instruction, int64_t leaf, const Literal& value)>;
  explicit ArrayWatcher(See see) : see_(std::move(see)) {}
  absl::Status AfterStep(const StepView& step) override;

 private:
  See see_;
};

// Returns the arrays in a value in order. `leaf` counts tokens too, as in StepValue.
struct Leaf {
  int64_t leaf;
  const Literal* value;
};
std::vector<Leaf> LeavesOf(const Literal& value);

}  // namespace hlo::debug
