#pragma once
// Lowers fused loops, updates, reductions, concatenations and pads to steps.

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

  // Returns one loop for all roots of a sibling fusion.
  loops::LoopProgram Loops(const FusedLoop& loop);
  // `code` is the lowered to_apply of the reduction.
  ReduceStep Reduce(const Node& node, ReduceCode code);
  // Copies the operand, unless the update is in place, and then writes the window.
  TileStep UpdateSlice(const Node& node);
  // Likewise for a scatter, which drops a window that is out of bounds.
  TileStep ScatterWindow(const Node& node, const LoopUpdate& update);
  // Copies the operands one after the other.
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
  // Finish the builder's program, or take a finished one, and record the builder's fused instructions.
  loops::LoopProgram FinishProgram(LoopBuilder& builder);
  loops::LoopProgram TakeProgram(LoopBuilder& builder);
  // Stores the padding value at these indices of the result.
  loops::LoopProgram Fill(const Node& pad, const std::vector<int64_t>& dims, const IndexMap& map);
  // Appends loops that fill the padding before and after a box of the result, dimension by dimension. `at`
  // maps indices of the box to those of the result.
  void FillAround(const Node& pad, absl::Span<const int64_t> box, const IndexMap& at, TileStep* step);
  // Returns a step that copies the operand to the result, unless both share memory.
  TileStep CopyOf(ValueId operand, ValueId result);
  // Returns the access to the updated window, whose positions the map gives.
  loops::Access WindowOf(const Node& update, const IndexMap& map, const LoopBuilder& builder) const;
  std::vector<loops::Reduction::Result> ReductionResults(const Node& node) const;
  // Returns the loop over the reduced and the kept dimensions, which yields the operands of the reduction.
  LoopBuilder YieldingLoop(const Node& reduce, const std::vector<int64_t>& outer,
                           const std::vector<int64_t>& inner) const;
  // Returns that loop, and sets *rows to whether it reduces rows or columns (loops::Reduction::rows). A
  // request for rows (*rows) is granted, unless the loop reads columns: the elements of different rows are
  // adjacent in memory, and those of a row are not. `must_be_by_rows` overrides this. A request for columns
  // is granted, unless rows begin at run-time starts and `may_be_by_rows`.
  loops::LoopProgram ReductionLoop(const Node& node, const ReduceDims& dims, bool must_be_by_rows,
                                   bool may_be_by_rows, bool* rows);
  // True unless the combiner rounds the first operand, and its values are not rounded already.
  bool AreRoundedForCombiner(const Node& reduce) const;
  // True if the second operand of the reduction is an iota along the dimension.
  bool IsIotaAlong(const Node& reduce, int64_t dimension) const;
  // Returns the loop that reduces rows along `dimension` in this number of equal parts.
  loops::LoopProgram SplitRows(const Node& node, int64_t dimension, int64_t parts);

  const Graph& graph_;
  const LoopFusion& fusion_;
  const SiblingFusion& siblings_;
  std::vector<const Instruction*> fused_;
};

}  // namespace hlo::plan
