#include "plan/graph.h"

#include <utility>

namespace hlo::plan {

ValueId Graph::NewValue(const Shape& shape, Node* node) {
  values.push_back({shape.WithoutLayouts(), node});
  values.back().is_dynamic = shape.HasDynamicDim();
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::NewConstant(Literal literal) {
  literals.push_back(std::move(literal));
  const ValueId value = NewValue(literals.back().shape(), nullptr);
  values[value].constant = &literals.back();
  return value;
}

bool IsWithin(const Block* block, const Node& owner) {
  while (block != nullptr && block->owner != &owner) block = block->parent;
  return block != nullptr;
}

Module& RewrittenModule(Graph& graph, const Module& original) {
  if (graph.rewritten == nullptr) graph.rewritten = std::make_shared<Module>(original.source());
  return *graph.rewritten;
}

void ResolveAll(Graph& graph) {
  for (ValueId& result : graph.results) result = graph.Resolve(result);
  for (Node& node : graph.nodes) {
    for (ValueId& v : node.operands) v = graph.Resolve(v);
    for (ValueId& v : node.next) v = graph.Resolve(v);
    for (auto& branch : node.branch_results) {
      for (ValueId& v : branch) v = graph.Resolve(v);
    }
    node.predicate = graph.Resolve(node.predicate);
  }
}

}  // namespace hlo::plan
