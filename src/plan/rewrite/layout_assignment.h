#pragma once
// Layout assignment: chooses the order in which memory has the elements of intermediate values.
//
// Programs on points, quaternions or small states work on arrays such as f32[1000,3]. Loops over slices,
// concatenations and sums of the last dimension have rows of three elements in row-major order. If memory has
// that dimension as the major one, the same loops have rows of 1,000.

#include "hlo_run/module.h"
#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Sets Value::rotation of values that only loops access, if that saves more time than the copies cost that
// other users of the values need. Adds these copies to the graph.
void AssignLayouts(const Module& module, Graph& graph, ChangeCounter& changes);

}  // namespace hlo::plan
