#pragma once
// Runs that show an observer every instruction.

#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/execute.h"

namespace hlo::debug {

// Returns planner options without the passes that fuse, move or remove instructions or update arrays in
// place: every instruction on arrays is a step, and its operands are intact after it.
PlanOptions ExposingPlanOptions();

// Runs the module with the observer of `options`. On the fast engine every instruction on arrays is a step.
absl::StatusOr<Literal> RunExposed(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                   const EvaluateOptions& options);

// Returns the arrays in a value in order. `leaf` counts tokens too, as in StepValue.
struct Leaf {
  int64_t leaf;
  const Literal* value;
};
std::vector<Leaf> LeavesOf(const Literal& value);

}  // namespace hlo::debug
