#include "plan/analysis/uses.h"

namespace hlo::plan {

Uses::Uses(const Graph& graph) : uses_(graph.values.size()) {
  auto use = [&](ValueId v, const Node* node, int32_t operand) {
    if (v != kNoValue) uses_[v].push_back({node, operand});
  };
  for (const Node& node : graph.nodes) {
    const bool is_op = node.kind == Node::Kind::kOp;
    for (size_t i = 0; i < node.operands.size(); ++i)
      use(node.operands[i], is_op ? &node : nullptr, static_cast<int32_t>(i));
    use(node.predicate, nullptr, 0);
    for (ValueId v : node.next) use(v, nullptr, 0);
    for (const auto& branch : node.branch_results) {
      for (ValueId v : branch) use(v, nullptr, 0);
    }
  }
  for (ValueId v : graph.results) use(v, nullptr, 0);
}

}  // namespace hlo::plan
