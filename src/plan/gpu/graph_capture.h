#pragma once
// Loops that a GPU can repeat without host synchronisation, as captured graphs.

#include "plan/gpu/gpu_plan.h"

namespace hlo::plan {

// Sets `is_capturable` and `conditionals` of all loops.
void FindCapturableLoops(const Plan& plan, GpuPlan* gpu);

}  // namespace hlo::plan
