#pragma once
// Optimisations across the parts of a row-tiled step: long rows become loops of their own, reductions are
// fused with the loop that produces their operand, and common subexpressions are computed once.

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Optimises the program of a step whose arguments are numbered. Sums may be reassociated. With `cse`, a loop
// reuses values that an earlier reduction computes.
void OptimizeRowProgram(RowsStep& rows, bool cse, ChangeCounter& changes);

}  // namespace hlo::plan
