#pragma once
// What a step is called, and how much work it stands for.

#include <string_view>

#include "hlo_run/cost.h"
#include "plan/plan.h"

namespace hlo::plan {

// `loop`, `reduce`, the name of a kernel, `reference`, `while`, `conditional`.
std::string_view KernelName(const Step& step);

// FLOPs of all its instructions; bytes that its kernel reads and writes, each buffer once. Loops and
// conditionals have none of their own.
Cost StepCost(const Plan& plan, const Step& step);

}  // namespace hlo::plan
