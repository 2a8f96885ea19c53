#pragma once
// In which order do steps run?

#include "plan/plan.h"

namespace hlo::plan {

// Steps that free more memory than their results take come as soon as what they read is there; the others
// keep their order. Before slots are assigned.
void FreeEarly(Plan& plan);

}  // namespace hlo::plan
