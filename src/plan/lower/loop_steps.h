#pragma once
// The steps that are loops: where their results go, and what reductions make of them.

#include <utility>
#include <vector>

#include "plan/analysis/associativity.h"
#include "plan/analysis/window_update.h"
#include "plan/codegen/tile_calls.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/fusion/sibling_fusion.h"
#include "plan/lower/tile_builder.h"
#include "plan/plan.h"

namespace hlo::plan {

class LoopSteps {
 public:
  LoopSteps(const Graph& graph, const Groups& groups, const Merges& merges)
      : graph_(graph), groups_(groups), merges_(merges) {}

  cpu::TileProgram Loops(const MergedLoop& loop);
  ReduceStep Reduce(const Node& node, ReduceCode code);
  // The whole operand, unless it is updated in place, and then the window.
  TileStep UpdateSlice(const Node& node);
  // The same of a scatter, which leaves out a window that does not fit.
  TileStep ScatterWindow(const Node& node, const LoopUpdate& update);
  TileStep Concatenate(const Node& node);
  // The padding value where no element of the operand goes, and those elements that negative padding leaves.
  TileStep Pad(const Node& node);

  // The instructions of the loops that were made since, but for the last one of each.
  std::vector<const Instruction*> TakeFused() { return std::exchange(fused_, {}); }

 private:
  const Shape& ShapeOf(ValueId v) const { return graph_.values[v].shape; }
  LoopBuilder Builder(const Shape& shape) const;
  cpu::TileProgram Finished(LoopBuilder& builder);
  // A pad's value at these places of its result.
  cpu::TileProgram Fill(const Node& pad, const std::vector<int64_t>& dims, const IndexMap& places);
  // Before and behind a box along each dimension; along the next one only within the box.
  void FillAround(const Node& pad, absl::Span<const int64_t> box, const IndexMap& at, TileStep* step);
  TileStep CopyOf(ValueId operand, ValueId result);
  // Where the update goes whose positions are those of the window under the map.
  cpu::Access WindowOf(const Node& update, const IndexMap& map, const LoopBuilder& builder) const;
  // Whether the second operand of a reduction counts along the dimension.
  bool IsIotaAlong(const Node& reduce, int64_t dimension) const;
  cpu::TileProgram RowsInParts(const Node& node, int64_t dimension, int64_t parts);

  const Graph& graph_;
  const Groups& groups_;
  const Merges& merges_;
  std::vector<const Instruction*> fused_;
};

}  // namespace hlo::plan
