#pragma once
// Where integers lie: a counter that begins at 0 and ends below a limit is never negative. Programs ask all
// the same, at every index, and add the size of the dimension if it is.

#include "plan/graph.h"

namespace hlo::plan {

// Selections between scalars that ranges decide stand for what they select.
void FoldSelections(Graph& graph);

}  // namespace hlo::plan
