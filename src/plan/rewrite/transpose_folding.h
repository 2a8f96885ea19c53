#pragma once
// A dot reads its operands in any order of dimensions: of a transposed array, it reads the array itself.

#include "hlo_run/module.h"
#include "plan/graph.h"

namespace hlo::plan {

// Dots of `graph`, which comes from the module, whose operands are transposes read what those transpose,
// where the result's dimensions keep their order: instructions of the same names that graph.rewritten owns.
void FoldTransposes(const Module& module, Graph& graph);

}  // namespace hlo::plan
