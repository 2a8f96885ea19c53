#pragma once
// The tile program of a loop: what it reads where, and what it computes of that.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/loops/tile_program.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/graph.h"

namespace hlo::plan {

// Element positions of a value as a function of a loop's position: index[d] = offset[d] + sum of
// coefficients[d][i] * position[i].
struct IndexMap {
  std::vector<int64_t> offset;
  std::vector<std::vector<int64_t>> coefficients;
  // Numbers that, at positions where the value matters, are multiples of `spacing` in [0, size * spacing).
  struct Edge {
    int64_t offset;
    std::vector<int64_t> coefficients;
    int64_t size, spacing, stride;
  };
  std::vector<Edge> edges;
  static IndexMap Identity(int64_t rank);
  static IndexMap Scalar() { return {}; }
};

// Builds the tile program of one root: loads of what is at hand, operations of what is inlined.
class LoopBuilder {
 public:
  // `order` lists the dimensions of the space that is walked: the first `outer` ones are outer.
  LoopBuilder(const Graph& graph, const Groups& groups, absl::Span<const int64_t> dims,
              absl::Span<const int64_t> order, int64_t outer);

  // The value at the loop's position itself, or at a mapped one.
  cpu::TileValue Value(ValueId v);
  cpu::TileValue Value(ValueId v, const IndexMap& map);
  // The result of a node that is not inlined, computed here; who asks for it later finds it.
  cpu::TileValue Compute(const Node& node);
  // Where a value lies: row-major under the map, up to its edges.
  cpu::Access AccessOf(ValueId v, const IndexMap& map) const;
  // Moves an access to the window that begins at run-time positions of the whole.
  void AddStarts(absl::Span<const ValueId> starts, const Shape& whole, const Shape& window,
                 cpu::Access* access) const;
  cpu::TileProgram& program() { return program_; }
  // The instructions that were asked for besides what Compute was called with.
  const std::vector<const Instruction*>& fused() const { return fused_; }

 private:
  // Strides by dimension of the space as those of outer and inner loops.
  cpu::Affine AffineOf(int64_t offset, absl::Span<const int64_t> strides) const;
  cpu::Affine PlaceOf(ValueId v, const IndexMap& map) const;
  void AddEdges(const IndexMap& map, cpu::Access* access) const;
  bool MayLeave(const IndexMap::Edge& edge) const;
  cpu::Access LookUp(const Node& gather, const IndexMap& map) const;
  cpu::Access Window(const Node& dynamic_slice, const IndexMap& map) const;
  cpu::Access Piece(ValueId v, const IndexMap& map);
  cpu::TileValue Padded(const Node& pad, const IndexMap& map);
  cpu::TileValue Concatenated(const Node& concatenate, const IndexMap& map);
  cpu::TileValue Elementwise(const Node& node, const IndexMap& map, bool identity);
  cpu::TileValue Positional(const Node& node, const IndexMap& map);
  cpu::TileValue Build(ValueId v, const IndexMap& map, bool identity);

  const Graph& graph_;
  const Groups& groups_;
  std::vector<int64_t> dims_, order_;
  int64_t outer_;
  cpu::TileProgram program_;
  absl::flat_hash_map<ValueId, cpu::TileValue> built_;  // At the loop's position.
  std::vector<const Instruction*> fused_;
};

}  // namespace hlo::plan
