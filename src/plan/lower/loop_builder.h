#pragma once
// Builds the loop program of a loop: its loads, and the fused operations.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_set.h"
#include "loops/loop_program.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/graph.h"

namespace hlo::plan {

// Maps a loop's position to an element of a value: index[d] = offset[d] + sum of coefficients[d][i] *
// position[i].
struct IndexMap {
  std::vector<int64_t> offset;
  std::vector<std::vector<int64_t>> coefficients;
  // A bound: where the value matters, the affine number is a multiple of `spacing` in [0, size * spacing).
  struct Edge {
    int64_t offset;
    std::vector<int64_t> coefficients;
    int64_t size, spacing, stride;
    bool operator==(const Edge&) const = default;
    template <class H>
    friend H AbslHashValue(H state, const Edge& e) {
      return H::combine(std::move(state), e.offset, e.coefficients, e.size, e.spacing, e.stride);
    }
  };
  std::vector<Edge> edges;
  bool operator==(const IndexMap&) const = default;
  template <class H>
  friend H AbslHashValue(H state, const IndexMap& map) {
    return H::combine(std::move(state), map.offset, map.coefficients, map.edges);
  }
  static IndexMap Identity(int64_t rank);
  static IndexMap Scalar() { return {}; }
};

// Builds the loop program of a root: loads of stored values, operations of fused nodes.
class LoopBuilder {
 public:
  // `order` lists the dimensions of the iteration space; the first `outer` ones are outer loops.
  LoopBuilder(const Graph& graph, const LoopFusion& fusion, absl::Span<const int64_t> dims,
              absl::Span<const int64_t> order, int64_t outer);

  // Returns the value at the loop's position, or at a mapped one.
  loops::Value Value(ValueId v);
  loops::Value Value(ValueId v, const IndexMap& map);
  // Computes the result of a node that is not fused; later uses of the value share it.
  loops::Value Compute(const Node& node);
  // Returns the access to a value under the map, bounded by its edges.
  loops::Access AccessOf(ValueId v, const IndexMap& map) const;
  // Offsets an access by run-time start indices of a window of a value.
  void AddStarts(absl::Span<const ValueId> starts, ValueId whole, const Shape& window,
                 loops::Access* access) const;
  loops::LoopProgram& program() { return program_; }
  // The fused instructions, without the nodes that Compute was called with.
  const std::vector<const Instruction*>& fused() const { return fused_; }

 private:
  // Splits strides by dimension into those of outer and inner loops.
  loops::Affine AffineOf(int64_t offset, absl::Span<const int64_t> strides) const;
  // Returns the place of an element in an array with these strides.
  loops::Affine OffsetOf(absl::Span<const int64_t> strides, const IndexMap& map) const;
  void AddEdges(const IndexMap& map, loops::Access* access) const;
  bool CanExceed(const IndexMap::Edge& edge) const;
  loops::Access GatherAccess(const Node& gather, const IndexMap& map);
  std::pair<int32_t, loops::Affine> IndexOf(const Node& gather, size_t k, IndexMap map);
  loops::Access DynamicSliceAccess(const Node& dynamic_slice, const IndexMap& map) const;
  loops::Access OperandAccess(ValueId v, const IndexMap& map);
  loops::Value Padded(const Node& pad, const IndexMap& map);
  loops::Value Concatenated(const Node& concatenate, const IndexMap& map);
  // These maps are of maps_.
  loops::Value Elementwise(const Node& node, const IndexMap* map);
  loops::Value Build(ValueId v, const IndexMap* map);
  loops::Value Affine(const Node& node, const IndexMap& map);

  const Graph& graph_;
  const LoopFusion& fusion_;
  std::vector<int64_t> dims_, order_;
  int64_t outer_;
  loops::LoopProgram program_;
  absl::node_hash_set<IndexMap> maps_;
  const IndexMap* identity_;
  absl::flat_hash_map<std::pair<ValueId, const IndexMap*>, loops::Value> built_;  // Keyed by maps of maps_.
  std::vector<const Instruction*> fused_;
};

}  // namespace hlo::plan
