#pragma once
// Folds transposes into dots, which can read their operands in any order of dimensions.

#include "hlo_run/module.h"
#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Replaces transposed operands of dots by the transposes' operands if the dimensions of the result keep their
// order. Replaces a transpose that exchanges the free dimensions of a dot, as in gradients of weights, by the
// dot of the exchanged operands. The new instructions keep their names and are owned by graph.rewritten.
void FoldTransposes(const Module& module, Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
