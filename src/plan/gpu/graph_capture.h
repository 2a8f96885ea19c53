#pragma once
// Finds loops and whole plans that a GPU can run as captured graphs, without host synchronisation.

#include "plan/gpu/gpu_plan.h"

namespace hlo::plan {

// Sets `is_capturable` and `conditionals` of all loops.
void FindCapturableLoops(const Plan& plan, GpuPlan* gpu);

// Sets `is_capturable` of the plan.
void FindCapturablePlan(const Plan& plan, GpuPlan* gpu);

}  // namespace hlo::plan
