#include "plan/rewrite/loop_state_dce.h"

#include <algorithm>
#include <vector>

namespace hlo::plan {
namespace {

class LiveValues {
 public:
  explicit LiveValues(const Graph& graph) : graph_(graph), live_(graph.values.size()) {
    for (const ValueId v : graph.results) Add(v);
    // Predicates of loops and branch indices are live: control flow is never removed.
    for (const Node& node : graph.nodes) {
      if (node.kind == Node::Kind::kWhile) Add(node.predicate);
      if (node.kind == Node::Kind::kConditional || node.has_effect) AddAll(node.operands);
    }
    while (!worklist_.empty()) {
      const ValueId v = worklist_.back();
      worklist_.pop_back();
      if (const Node* node = graph.values[v].node) AddSources(*node, v);
    }
  }

  bool Contains(ValueId v) const {
    v = graph_.Resolve(v);
    return v != kNoValue && live_[v];
  }

 private:
  void Add(ValueId v) {
    v = graph_.Resolve(v);
    if (v == kNoValue || live_[v]) return;
    live_[v] = true;
    worklist_.push_back(v);
  }
  void AddAll(const std::vector<ValueId>& values) {
    for (const ValueId v : values) Add(v);
  }
  // Marks the values that the node computes `v` from.
  void AddSources(const Node& node, ValueId v) {
    if (node.kind == Node::Kind::kOp) return AddAll(node.operands);
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != v) continue;
      if (node.kind == Node::Kind::kWhile) {
        Add(node.operands[i]);
        Add(node.next[i]);
      }
      for (const std::vector<ValueId>& branch : node.branch_results) Add(branch[i]);
    }
  }

  const Graph& graph_;
  std::vector<bool> live_;
  std::vector<ValueId> worklist_;
};

}  // namespace

void EliminateDeadLoopState(Graph& graph, ChangeCounter& changes) {
  const LiveValues live(graph);
  const bool has_dead = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.kind != Node::Kind::kOp && !std::all_of(node.results.begin(), node.results.end(),
                                                        [&](ValueId v) { return live.Contains(v); });
  });
  // Dead values may depend on each other, so they are removed together.
  if (!has_dead || !changes.Allow("loop_state_dce")) return;
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kOp) continue;
    size_t kept = 0;
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (!live.Contains(node.results[i])) continue;
      node.results[kept] = node.results[i];
      if (node.kind == Node::Kind::kWhile) {
        node.operands[kept] = node.operands[i];
        node.next[kept] = node.next[i];
      }
      for (std::vector<ValueId>& branch : node.branch_results) branch[kept] = branch[i];
      ++kept;
    }
    node.results.resize(kept);
    if (node.kind == Node::Kind::kWhile) {
      node.operands.resize(kept);
      node.next.resize(kept);
    }
    for (std::vector<ValueId>& branch : node.branch_results) branch.resize(kept);
  }
}

}  // namespace hlo::plan
