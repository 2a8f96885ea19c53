#include "plan/graph.h"

#include <algorithm>
#include <numeric>
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

Index StoredOrder(int64_t rank, int32_t rotation) {
  Index order = Zeros(rank);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::rotate(order.begin(), order.end() - rotation, order.end());
  return order;
}

Index StoredStrides(const Value& value) {
  const absl::Span<const int64_t> dims = value.shape.dims();
  if (value.rotation == 0) return RowMajorStrides(dims);
  const Index order = StoredOrder(value.shape.rank(), value.rotation);
  const Index in_order = RowMajorStrides(Pick(dims, order));
  Index strides = Zeros(value.shape.rank());
  for (size_t k = 0; k < order.size(); ++k) strides[order[k]] = in_order[k];
  return strides;
}

std::vector<Node*> NodesInOrder(const Graph& graph) {
  std::vector<Node*> nodes;
  const auto add = [&](const auto& self, const Block& block) -> void {
    for (Node* node : block.nodes) {
      nodes.push_back(node);
      for (const Block* each : node->blocks) self(self, *each);
    }
  };
  add(add, *graph.entry);
  return nodes;
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
