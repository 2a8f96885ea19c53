#pragma once
// The nodes of a graph that results or effects need.

#include "absl/container/flat_hash_set.h"
#include "plan/graph.h"

namespace hlo::plan {

// Rewrites leave dead nodes in the graph, whose operands may have been removed.
absl::flat_hash_set<const Node*> LiveNodes(const Graph& graph);

}  // namespace hlo::plan
