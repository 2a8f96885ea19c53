#pragma once
// Range analysis of integers. For instance, a counter that starts at 0 and counts up to a limit is never
// negative. For every index, frameworks emit a select that wraps negative values around. That select can then
// be folded.

#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Replaces scalar selects whose predicate has a known value by the selected operand.
void FoldSelectsByRange(Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
