#include "plan/analysis/live_nodes.h"

#include <vector>

namespace hlo::plan {

absl::flat_hash_set<const Node*> LiveNodes(const Graph& graph) {
  absl::flat_hash_set<const Node*> live;
  std::vector<const Node*> left;
  const auto add = [&](const Node* node) {
    if (node != nullptr && live.insert(node).second) left.push_back(node);
  };
  const auto add_all = [&](const std::vector<ValueId>& values) {
    for (const ValueId v : values) {
      if (const ValueId real = graph.Resolve(v); real != kNoValue) add(graph.values[real].node);
    }
  };
  add_all(graph.results);
  for (const Node& node : graph.nodes) {
    if (node.has_effect) add(&node);
  }
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    add_all(node->operands);
    add_all(node->next);
    add_all({node->predicate});
    for (const std::vector<ValueId>& results : node->branch_results) add_all(results);
    add(node->block->owner);
  }
  return live;
}

}  // namespace hlo::plan
