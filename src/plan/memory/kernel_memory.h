#pragma once
// The scratch memory of kernels.

#include "plan/plan.h"

namespace hlo::plan {

// Returns the maximal number of scratch bytes of a step. Small blocks, the packed panels that threads keep,
// and the memory of reference functions are not counted.
int64_t KernelMemory(const std::vector<Step>& steps);

}  // namespace hlo::plan
