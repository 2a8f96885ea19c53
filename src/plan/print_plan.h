#pragma once
// A plan as text: buffers, and each step with what it reads and writes.

#include <string>

#include "plan/plan.h"

namespace hlo::plan {

std::string ToString(const Plan& plan);

}  // namespace hlo::plan
