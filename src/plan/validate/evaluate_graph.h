#pragma once
// Evaluates a graph node by node with the reference functions.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/run.h"
#include "plan/graph.h"
#include "reference/program.h"

namespace hlo::plan {

// Returns the leaves of the result; `parameters` are the leaves of the entry's. It is slow and naive, for
// checking rewrites.
absl::StatusOr<std::vector<Literal>> EvaluateGraph(const CheckedModule& module, const Graph& graph,
                                                   const std::vector<Literal>& parameters,
                                                   const EvaluateOptions& options);

// Returns the programs of all computations that the nodes may call.
std::shared_ptr<const reference::Programs> MakePrograms(const CheckedModule& module, const Graph& graph,
                                                        const CustomCalls* custom_calls);

// Returns the leaves of a value, tokens included.
std::vector<Literal> LeavesOf(const Literal& value);

}  // namespace hlo::plan
