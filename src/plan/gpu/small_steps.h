#pragma once
// Fuses consecutive small steps, with the control flow around them, into launches of one thread block.

#include "plan/gpu/gpu_plan.h"

namespace hlo::plan {

// Sets GpuStep::fused_steps. Loops and conditionals are fused whole, or only steps within them.
void FuseSmallSteps(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu);

}  // namespace hlo::plan
