#pragma once
// Row tiling: reductions along rows and the loops over the same rows become one step that runs over blocks of
// rows. A softmax then reads and writes memory once.

#include <vector>

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Fuses steps whose slots are still value numbers. With `cse`, the parts of a step share common
// subexpressions.
void TileRows(Plan& plan, bool cse, ChangeCounter& changes);

}  // namespace hlo::plan
