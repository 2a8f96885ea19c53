#pragma once
// Predicates on nodes that fusion and the rewrites share.

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
// Returns the dimensions of size other than 1 in memory order, major ones first; nullopt if the layout has
// tiling or padding.
std::optional<Index> NonUnitDimsInMemoryOrder(const Shape& shape);

// True for an instruction on arrays of static sizes that the planner may compute itself.
bool IsStaticOp(const Node& node);
bool IsElementwise(const Graph& graph, const Node& node);
bool HasAffineIndexing(const Graph& graph,
                       const Node& node);  // broadcast, transpose, slice, reverse, iota, reshape that adds or
                                           // removes dimensions of size 1, or splits those of a gather
// True for a reshape, or a bitcast to the same bytes: the result may alias the operand.
bool IsNoOpReshape(const Node& node);
// True for a reshape, or a bitcast that keeps the row-major order of the elements.
bool IsRowMajorReshape(const Node& node);
bool IsDynamicSlice(const Node& node);
// True for a gather of at least one element whose users can read the elements directly from its operand.
bool IsFusibleGather(const Graph& graph, const Node& node);
// True for a concatenation whose operands are the components of index vectors.
bool IsConcatenationOfIndices(const Graph& graph, const Node& node, int64_t index_vector_dim);
// True for a reshape to the gather's indices that keeps the components of each index vector.
bool KeepsIndexVectors(const Graph& graph, const Node& node, const Node& gather);
bool HasSingleIndexVector(const Node& gather);  // The gather is then a slice at a run-time position.
bool IsConcatenate(const Node& node);
bool IsPad(const Node& node);
bool HasInteriorPadding(const Node& pad);
// True if the node iterates over this operand in a loop into which the operand's producer can be fused.
bool CanFuseOperand(const Graph& graph, const Node& node, int32_t operand);

}  // namespace hlo::plan
