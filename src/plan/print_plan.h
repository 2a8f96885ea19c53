#pragma once
// Prints a plan: its buffers, and each step with its operands and results.

#include <string>

#include "plan/plan.h"

namespace hlo::plan {

std::string ToString(const Plan& plan);

}  // namespace hlo::plan
