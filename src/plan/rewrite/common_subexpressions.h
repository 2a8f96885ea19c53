#pragma once
// Common subexpression elimination.

#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Replaces instructions, loops and conditionals by earlier ones of the same block that compute the same
// values. Equal instructions are frequent in text that XLA has optimised, because its fusions duplicate their
// producers. Elementwise operations, pads, concatenations and gathers of arrays are replaced only with
// `shares_elements`.
void EliminateCommonSubexpressions(Graph& graph, bool shares_elements, ChangeCounter& changes);

}  // namespace hlo::plan
