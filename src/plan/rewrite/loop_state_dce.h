#pragma once
// What loops carry from turn to turn, and what conditionals give, without anything needing it.

#include "plan/graph.h"

namespace hlo::plan {

// States of loops that nothing but they themselves needs, or that other values stand for, and likewise
// results of conditionals, are no longer there: what computes them alone becomes dead.
void DropDeadResults(Graph& graph);

}  // namespace hlo::plan
