#pragma once
// Reductions along rows, and the loops over the same rows around them, become one step that runs block of
// rows by block of rows: a softmax reads and writes memory once.

#include <vector>

#include "plan/plan.h"

namespace hlo::plan {

// Joins steps of `plan` whose slots are value numbers still. With `shares`, parts of a step compute what they
// have in common once.
void BlockRows(Plan& plan, bool shares = true);

}  // namespace hlo::plan
