#pragma once
// List scheduling for memory.

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Moves each step that frees more memory than its results need to the earliest point at which its operands
// are ready. The others keep their order. Slots are still value numbers.
void ScheduleForMemory(Plan& plan, ChangeCounter& changes);

}  // namespace hlo::plan
