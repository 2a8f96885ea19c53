#pragma once
// Row fusion on the GPU: loops and reductions over the same rows become one launch, which keeps the values
// that pass between them in shared memory.

#include "device/properties.h"
#include "plan/gpu/gpu_plan.h"

namespace hlo::plan {

// Fuses steps that run on the GPU and are not part of an epilogue.
void FuseRows(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu);

}  // namespace hlo::plan
