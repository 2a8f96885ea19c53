#pragma once
// What kernels take for the time of a call.

#include "plan/plan.h"

namespace hlo::plan {

// Bytes that one of the steps takes at most, besides what it reads and writes, the small blocks and the
// panels of products that threads keep, and what a reference function takes.
int64_t KernelMemory(const std::vector<Step>& steps);

}  // namespace hlo::plan
