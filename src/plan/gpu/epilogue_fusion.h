#pragma once
// Epilogue fusion on GPUs.

#include "device/properties.h"
#include "plan/gpu/gpu_plan.h"

namespace hlo::plan {

// Selects kernels with epilogues for dots and convolutions. The next step must be a loop over the result that
// such a kernel can apply when it stores the result.
void FuseEpilogues(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu);

}  // namespace hlo::plan
