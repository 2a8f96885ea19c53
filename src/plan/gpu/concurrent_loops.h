#pragma once
// Runs the pieces of a concatenation in one launch.

#include <vector>

#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns the launches of a step whose loops can run concurrently; empty if each loop needs a launch
// of its own.
std::vector<cuda::LoweredProgram> LowerConcurrentLoops(const Plan& plan, const Step& step,
                                                       const device::DeviceProperties& device);

}  // namespace hlo::plan
