#include "plan/rewrite/sink_slices.h"

#include <algorithm>
#include <vector>

#include "plan/analysis/node_traits.h"
#include "plan/analysis/uses.h"

namespace hlo::plan {
namespace {

class SliceSinker {
 public:
  SliceSinker(Graph& graph, ChangeCounter& changes) : graph_(graph), changes_(changes), uses_(graph) {}

  void Sink(Node& conditional) {
    const size_t count = conditional.results.size();
    for (size_t i = 0; i < count; ++i) {
      const std::vector<Uses::Use>& uses = uses_.of(conditional.results[i]);
      if (!AreAllSmallSlices(conditional.results[i], uses)) continue;
      if (!changes_.Allow("sink_slices", conditional.instruction->name())) return;
      for (const Uses::Use& use : uses) MoveIntoBranches(*use.node, i, conditional);
    }
  }

 private:
  bool AreAllSmallSlices(ValueId v, const std::vector<Uses::Use>& uses) const {
    const Value& whole = graph_.values[v];
    int64_t count = 0;  // The elements of all slices.
    for (const Uses::Use& use : uses) {
      if (use.node == nullptr || !IsStaticOp(*use.node) || use.node->instruction->opcode() != Opcode::kSlice)
        return false;
      count += *ResultShape(graph_, *use.node).ElementCount();
    }
    return !uses.empty() && !whole.is_dynamic && 2 * count <= *whole.shape.ElementCount();
  }

  // Makes the slice of the i-th result another result of the conditional.
  void MoveIntoBranches(const Node& slice, size_t i, Node& conditional) {
    const Shape shape = ResultShape(graph_, slice);
    for (size_t b = 0; b < conditional.blocks.size(); ++b) {
      std::vector<ValueId>& results = conditional.branch_results[b];
      Node& copy = graph_.nodes.emplace_back(slice);
      copy.block = conditional.blocks[b];
      copy.operands = {results[i]};
      copy.results = {graph_.NewValue(shape, &copy)};
      copy.block->nodes.push_back(&copy);
      results.push_back(copy.results[0]);
    }
    conditional.results.push_back(graph_.NewValue(shape, &conditional));
    graph_.values[slice.results[0]].replaced_by = conditional.results.back();
  }

  Graph& graph_;
  ChangeCounter& changes_;
  const Uses uses_;
};

}  // namespace

void SinkSlices(Graph& graph, ChangeCounter& changes) {
  std::vector<Node*> conditionals;
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kConditional) conditionals.push_back(&node);
  }
  if (conditionals.empty()) return;
  SliceSinker slicer(graph, changes);
  for (Node* node : conditionals) slicer.Sink(*node);
  ResolveAll(graph);
}

}  // namespace hlo::plan
