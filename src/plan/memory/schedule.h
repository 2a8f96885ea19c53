#pragma once
// List scheduling for memory.

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Moves steps that free more memory than their results take to the first place where their operands are
// ready; the others keep their order. Slots are still value numbers.
void ScheduleForMemory(Plan& plan, ChangeCounter& changes);

}  // namespace hlo::plan
