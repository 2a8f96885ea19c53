#pragma once
// Computes the name and the cost of a step.

#include <string_view>

#include "hlo_run/cost.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns `loop`, `reduce`, `rows`, the name of a kernel, `reference`, `while` or `conditional`.
std::string_view KernelName(const Step& step);

// Returns the FLOPs of all instructions of the step, and the bytes that its kernel reads and writes, each
// buffer counted once. Loops and conditionals have no cost of their own.
Cost StepCost(const Plan& plan, const Step& step);

}  // namespace hlo::plan
