#pragma once
// Sinks slices into conditionals.

#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Moves the slices of a conditional's result into its branches if they are small and the result has no other
// user.
void SinkSlices(Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
