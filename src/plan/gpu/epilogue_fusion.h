#pragma once
// Epilogue fusion on GPUs. It selects kernels for steps of a finished plan, whereas the pass gemm_fusion (for
// CPUs) changes the steps. Devices of a run share a plan, but their kernels differ. Also, the result of the
// product keeps its buffer for runs in which the loop's result overlaps an operand.

#include "device/properties.h"
#include "plan/gpu/gpu_plan.h"

namespace hlo::plan {

// Selects kernels with epilogues for dots and convolutions. The next step must be a loop over the result that
// such a kernel can apply when it stores the result.
void FuseEpilogues(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu);

}  // namespace hlo::plan
