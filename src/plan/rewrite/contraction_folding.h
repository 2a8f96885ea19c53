#pragma once
// Folds conversions into dots and convolutions, which widen their operands themselves, and transposes into
// dots, which read their operands in any order of dimensions.

#include "hlo_run/module.h"
#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Replaces operands of dots and convolutions that are conversions to the type of the sums by the narrower
// arrays, if both are of one type for which there are faster kernels. Replaces transposed operands of dots by
// the transposes' operands if the dimensions of the result keep their order. Replaces a transpose that
// exchanges the free dimensions of a dot, as in gradients of weights, by the dot of the exchanged operands,
// also if the dot's result is converted to the type of the operands first. If `mixes_types`, a dot may have
// operands and a result of different types: single operands are replaced, unless the dot would widen them in
// each iteration of a loop, and results are converted to other types. The new instructions keep their names
// and are owned by graph.rewritten.
void FoldIntoContractions(const Module& module, Graph& graph, bool mixes_types, ChangeCounter& changes);

}  // namespace hlo::plan
