#pragma once
// Conditionals whose result is large, where all that anybody reads of it is a small part.

#include "plan/graph.h"

namespace hlo::plan {

// Branches give the slices that are taken of a conditional's result, and not the result, where nothing else
// needs that.
void SliceInBranches(Graph& graph);

}  // namespace hlo::plan
