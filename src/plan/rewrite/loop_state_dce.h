#pragma once
// Dead code elimination for loop-carried values and results of conditionals.

#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Removes loop-carried values and results of conditionals that are dead, or that other values replace; the
// nodes that compute only them become dead. Removes loops without results, if they end.
void EliminateDeadLoopState(Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
