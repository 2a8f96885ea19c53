#pragma once
// Range analysis of integers. For instance, a counter that starts at 0 and counts up to a limit is never
// negative. For every index, frameworks emit a select that wraps negative values around. That select can then
// be folded. The range of an integer that has one value makes it a constant.

#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Replaces selects whose predicate has a known value by the selected operand, single integers with a known
// value by constants, and integer operations that return one of their operands by that operand.
void FoldByRange(Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
