#pragma once
// Which memory does a value take, from when to when, and with whom does it share?

#include "plan/plan.h"

namespace hlo::plan {

// Replaces the value numbers in the plan's steps by slots; fills buffers, results and arena_bytes.
void AssignBuffers(Plan& plan, bool in_place = true);

}  // namespace hlo::plan
