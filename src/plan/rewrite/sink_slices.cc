#include "plan/rewrite/sink_slices.h"

#include <algorithm>
#include <vector>

#include "plan/analysis/node_traits.h"
#include "plan/analysis/uses.h"

namespace hlo::plan {
namespace {

class Slicer {
 public:
  explicit Slicer(Graph& graph) : graph_(graph), uses_(graph) {}

  void Slice(Node& conditional) {
    const size_t count = conditional.results.size();
    for (size_t i = 0; i < count; ++i) {
      const std::vector<Uses::Use>& uses = uses_.of(conditional.results[i]);
      if (!AreSmallSlices(conditional.results[i], uses)) continue;
      for (const Uses::Use& use : uses) Move(*use.node, i, conditional);
    }
  }

 private:
  bool AreSmallSlices(ValueId v, const std::vector<Uses::Use>& uses) const {
    const Value& whole = graph_.values[v];
    int64_t count = 0;  // Elements of all slices.
    for (const Uses::Use& use : uses) {
      if (use.node == nullptr || !IsStaticOp(*use.node) || use.node->instruction->opcode() != Opcode::kSlice)
        return false;
      count += *ResultShape(graph_, *use.node).ElementCount();
    }
    return !uses.empty() && !whole.is_dynamic && 2 * count <= *whole.shape.ElementCount();
  }

  // The slice of the i-th result becomes another result.
  void Move(const Node& slice, size_t i, Node& conditional) {
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
    graph_.values[slice.results[0]].same_as = conditional.results.back();
  }

  Graph& graph_;
  const Uses uses_;
};

}  // namespace

void SliceInBranches(Graph& graph) {
  std::vector<Node*> conditionals;
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kConditional) conditionals.push_back(&node);
  }
  if (conditionals.empty()) return;
  Slicer slicer(graph);
  for (Node* node : conditionals) slicer.Slice(*node);
  ResolveAll(graph);
}

}  // namespace hlo::plan
