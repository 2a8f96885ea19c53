#pragma once
// Buffer assignment: every value gets a buffer for its live range.

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Replaces the value numbers in the plan's steps by slots; fills buffers, results and arena_bytes.
void AssignBuffers(Plan& plan, bool in_place, ChangeCounter& changes);

}  // namespace hlo::plan
