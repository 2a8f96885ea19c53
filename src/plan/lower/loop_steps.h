#pragma once
// Lowers fused loops, updates and reductions to steps.

#include <utility>
#include <vector>

#include "plan/analysis/associativity.h"
#include "plan/analysis/reduce_dims.h"
#include "plan/analysis/window_update.h"
#include "plan/codegen/operations.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/fusion/sibling_fusion.h"
#include "plan/lower/loop_builder.h"
#include "plan/plan.h"

namespace hlo::plan {

class LoopSteps {
 public:
  LoopSteps(const Graph& graph, const LoopFusion& fusion, const SiblingFusion& siblings)
      : graph_(graph), fusion_(fusion), siblings_(siblings) {}

  loops::LoopProgram Loops(const FusedLoop& loop);
  ReduceStep Reduce(const Node& node, ReduceCode code);
  // Copies the operand, unless the update is in place, and then writes the window.
  TileStep UpdateSlice(const Node& node);
  // Likewise for a scatter, which drops a window that is out of bounds.
  TileStep ScatterWindow(const Node& node, const LoopUpdate& update);
  TileStep Concatenate(const Node& node);
  // Fills the padding and copies the elements that negative padding does not remove.
  TileStep Pad(const Node& node);

  // Returns the fused instructions of the loops since the last call, without the last one of each.
  std::vector<const Instruction*> TakeFused() { return std::exchange(fused_, {}); }

 private:
  const Shape& ShapeOf(ValueId v) const { return graph_.values[v].shape; }
  int32_t RotationOf(ValueId v) const { return v == kNoValue ? 0 : graph_.values[v].rotation; }
  // Returns a builder whose loop visits positions in the order of an array with this Value::rotation.
  LoopBuilder Builder(absl::Span<const int64_t> dims, int32_t rotation) const;
  loops::LoopProgram Finished(LoopBuilder& builder);
  // Likewise for a program that is finished.
  loops::LoopProgram Taken(LoopBuilder& builder);
  // Stores the padding value at these indices of the result.
  loops::LoopProgram Fill(const Node& pad, const std::vector<int64_t>& dims, const IndexMap& map);
  // Fills the padding before and behind a box, dimension by dimension.
  void FillAround(const Node& pad, absl::Span<const int64_t> box, const IndexMap& at, TileStep* step);
  TileStep CopyOf(ValueId operand, ValueId result);
  // Returns the access to the updated window, whose positions the map gives.
  loops::Access WindowOf(const Node& update, const IndexMap& map, const LoopBuilder& builder) const;
  std::vector<loops::Reduction::Result> ReductionResults(const Node& node) const;
  // Returns the loop over the reduced and the kept dimensions, which yields the operands of the reduction.
  LoopBuilder Yielded(const Node& reduce, const std::vector<int64_t>& outer,
                      const std::vector<int64_t>& inner) const;
  // Returns that loop for a reduction by rows, if *rows, or by columns. Unless it must be by rows, it is by
  // columns if neighbouring rows are contiguous and their elements are not. If it may be by rows, it is if
  // rows begin at run-time starts. *rows becomes the choice.
  loops::LoopProgram ReducedLoop(const Node& node, const ReduceDims& dims, bool must_be_by_rows,
                                 bool may_be_by_rows, bool* rows);
  // True unless the combiner rounds the first operand, and its values are not rounded already.
  bool AreRoundedForCombiner(const Node& reduce) const;
  // True if the second operand of the reduction is an iota along the dimension.
  bool IsIotaAlong(const Node& reduce, int64_t dimension) const;
  loops::LoopProgram SplitRows(const Node& node, int64_t dimension, int64_t parts);

  const Graph& graph_;
  const LoopFusion& fusion_;
  const SiblingFusion& siblings_;
  std::vector<const Instruction*> fused_;
};

}  // namespace hlo::plan
