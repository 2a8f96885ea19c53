#include "plan/rewrite/loop_state_dce.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "plan/analysis/counted_loops.h"

namespace hlo::plan {
namespace {

// Returns the loops without effects that end after a known number of iterations, like all loops in them.
absl::flat_hash_set<const Node*> FiniteLoops(const Graph& graph) {
  absl::flat_hash_set<const Node*> finite;
  for (const Node& node : graph.nodes) {
    if (node.kind != Node::Kind::kWhile || node.has_effect) continue;
    const std::optional<CountedLoop> counted = FindCountedLoop(graph, node);
    if (counted.has_value() && counted->first_value.has_value() && counted->limit_value.has_value() &&
        TripCount(*counted, *counted->first_value, *counted->limit_value).has_value())
      finite.insert(&node);
  }
  for (const Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kOp ? !node.has_effect
                                     : node.kind != Node::Kind::kWhile || finite.contains(&node))
      continue;
    for (const Block* block = node.block; block != nullptr; block = block->parent) finite.erase(block->owner);
  }
  return finite;
}

class LiveValues {
 public:
  LiveValues(const Graph& graph, const absl::flat_hash_set<const Node*>& finite)
      : graph_(graph), live_(graph.values.size()) {
    for (const ValueId v : graph.results) Add(v);
    // Predicates of loops that may not end, and branch indices, are live: such control flow is not removed.
    for (const Node& node : graph.nodes) {
      if (node.kind == Node::Kind::kWhile && !finite.contains(&node)) Add(node.predicate);
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
        Add(node.predicate);
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
  const absl::flat_hash_set<const Node*> finite = FiniteLoops(graph);
  const LiveValues live(graph, finite);
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
  for (Block& block : graph.blocks) {
    std::erase_if(block.nodes,
                  [&](const Node* node) { return node->results.empty() && finite.contains(node); });
  }
}

}  // namespace hlo::plan
