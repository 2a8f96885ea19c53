#pragma once
// Reductions along rows, and the loops over the same rows around them, become one step that runs block of rows
// by block of rows: a softmax reads and writes memory once.

#include <vector>

#include "plan/plan.h"

namespace hlo::plan {

// Joins steps of `plan` whose slots are value numbers still.
void BlockRows(Plan& plan);

}  // namespace hlo::plan
