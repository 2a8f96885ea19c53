#pragma once
// The meaning of a graph: its nodes one by one, each by the reference function of its opcode.

#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/run.h"
#include "plan/graph.h"

namespace hlo::plan {

// The leaves of the result; `parameters` are the leaves of the entry's. Slow and naive: for checks of what
// rewrites the graph.
absl::StatusOr<std::vector<Literal>> EvaluateGraph(const CheckedModule& module, const Graph& graph,
                                                   const std::vector<Literal>& parameters,
                                                   const EvaluateOptions& options);

// The leaves of a value, tokens among them.
std::vector<Literal> LeavesOf(const Literal& value);

}  // namespace hlo::plan
