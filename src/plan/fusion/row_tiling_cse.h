#pragma once
// How the parts of a step go over rows, and what they hand to each other: loops walk long rows by themselves,
// a reduction of what a loop has just stored becomes part of the loop, and what two parts compute alike is
// computed once.

#include "plan/plan.h"

namespace hlo::plan {

// Joins the parts of a step whose arguments are numbered. The bits of its results may change where it sums.
// With `shares`, a loop reads values that a reduction before it has computed.
void JoinParts(RowsStep& rows, bool shares);

}  // namespace hlo::plan
