#pragma once
// Predicates on nodes that fusion and rewrites share.

#include <cstdint>
#include <optional>

#include "plan/graph.h"
#include "types/index.h"

namespace hlo::plan {

inline const Shape& OperandShape(const Graph& graph, const Node& node, int32_t i) {
  return graph.values[node.operands[i]].shape;
}
inline const Shape& ResultShape(const Graph& graph, const Node& node) {
  return graph.values[node.results[0]].shape;
}
// The dimensions of more than one element as they lie in memory, major ones first; nullopt where tiles or
// padding make it more than an order.
std::optional<Index> LargerDimsInMemory(const Shape& shape);

// What a node is to a loop.
bool IsStaticOp(const Node& node);  // An instruction on arrays of static sizes.
bool IsElementwise(const Graph& graph, const Node& node);
bool IsPositional(const Graph& graph,
                  const Node& node);  // broadcast, transpose, slice, reverse, iota, reshape by 1s
// A reshape, or a bitcast to the same bytes: the result lies where the operand does.
bool KeepsMemory(const Node& node);
bool IsDynamicSlice(const Node& node);
// A gather of at least one element, whose users may look each element up where the operand has it.
bool IsLookUp(const Graph& graph, const Node& node);
bool IsSingleWindow(const Node& gather);  // Of one vector of indices: a slice at a run-time position.
bool IsConcatenate(const Node& node);
bool IsPad(const Node& node);
bool HasInteriorPadding(const Node& pad);
// Kernels that walk each operand, or the first ones, in a loop that others may join.
bool TakesLoops(const Graph& graph, const Node& node, int32_t operand);

}  // namespace hlo::plan
