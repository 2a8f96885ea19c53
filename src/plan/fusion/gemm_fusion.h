#pragma once
// Loops over the result of a dot or convolution that nothing else needs join it: each block of the result
// goes through the loop while it is in the cache, and the whole of it lies in memory never, or where the
// loop's own result will.

#include "plan/plan.h"

namespace hlo::plan {

// Joins steps of `plan` whose slots are value numbers still, where the product's result has at least so many
// bytes.
void JoinProductLoops(Plan& plan, int64_t least_bytes);

}  // namespace hlo::plan
