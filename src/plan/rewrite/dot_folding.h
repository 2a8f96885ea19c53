#pragma once
// Folds transposes and conversions into dots, which read their operands in any order of dimensions and widen
// them themselves.

#include "hlo_run/module.h"
#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Replaces transposed operands of dots by the transposes' operands if the dimensions of the result keep their
// order. Replaces operands that are conversions to the type of the sums by the narrower arrays, if both are
// of one type for which there are faster kernels. Replaces a transpose that exchanges the free dimensions of
// a dot, as in gradients of weights, by the dot of the exchanged operands, also if the dot's result is
// converted back to the type of its operands first. The new instructions keep their names and are owned by
// graph.rewritten.
void FoldIntoDots(const Module& module, Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
