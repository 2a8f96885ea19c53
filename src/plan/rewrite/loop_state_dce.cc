#include "plan/rewrite/loop_state_dce.h"

#include <vector>

namespace hlo::plan {
namespace {

class Needs {
 public:
  explicit Needs(const Graph& graph) : graph_(graph), needed_(graph.values.size()) {
    for (const ValueId v : graph.results) Add(v);
    // Loops run, and branches are taken, whatever they give.
    for (const Node& node : graph.nodes) {
      if (node.kind == Node::Kind::kWhile) Add(node.predicate);
      if (node.kind == Node::Kind::kConditional || node.has_effect) AddAll(node.operands);
    }
    while (!added_.empty()) {
      const ValueId v = added_.back();
      added_.pop_back();
      if (const Node* node = graph.values[v].node) Follow(*node, v);
    }
  }

  bool Contains(ValueId v) const {
    v = graph_.Resolve(v);
    return v != kNoValue && needed_[v];
  }

 private:
  void Add(ValueId v) {
    v = graph_.Resolve(v);
    if (v == kNoValue || needed_[v]) return;
    needed_[v] = true;
    added_.push_back(v);
  }
  void AddAll(const std::vector<ValueId>& values) {
    for (const ValueId v : values) Add(v);
  }
  // To what the node computes the value from.
  void Follow(const Node& node, ValueId v) {
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
  std::vector<bool> needed_;
  std::vector<ValueId> added_;
};

}  // namespace

void DropDeadResults(Graph& graph) {
  const Needs needs(graph);
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kOp) continue;
    size_t kept = 0;
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (!needs.Contains(node.results[i])) continue;
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
