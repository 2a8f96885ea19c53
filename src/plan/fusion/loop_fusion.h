#pragma once
// Loop fusion: elementwise nodes and data movement (broadcast, transpose, slice, reverse, iota, pad, gather,
// concatenate) are fused into the loops of their users, which read their operands through strides, edges and
// indices.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/uses.h"
#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// The maximum size of a loop; the tiles of larger loops would not fit the cache.
inline constexpr int32_t kMaxOpsInLoop = 96;

class LoopFusion {
 public:
  // If `enabled` is false, every node is a step of its own.
  LoopFusion(const Graph& graph, const Uses& uses, bool enabled, ChangeCounter& changes);

  // True if the node is computed in the loops of its users.
  bool IsFused(const Node& node) const { return fused_.contains(&node); }
  // True for a gather of single elements that is a loop of its own, which reads the components of its index
  // vectors from the operands of a concatenation.
  bool IsGatherLoop(const Node& node) const { return gather_loops_.contains(&node); }
  // Returns the node whose loop computes a fused elementwise node; nullptr for other nodes, which several
  // loops may compute.
  const Node* RootOf(const Node& node) const;
  // True if the value has a user that is not dead.
  bool IsLive(ValueId v) const;
  // True if the node is dead.
  bool IsDead(const Node& node) const { return dead_.contains(&node); }

 private:
  struct Path {
    const Node* root = nullptr;
    int32_t operand = 0;        // The operand, for roots that have a loop for each.
    bool identity = true;       // No index is changed.
    bool broadcasts = false;    // The path contains a broadcast.
    bool concatenated = false;  // The path contains a concatenation, whose operands must be in memory.
    bool index = false;         // The path leads to the indices of a gather.
    bool reshaped = false;      // It contains a reshape of the indices, which are read in row-major order.
    bool operator==(const Path&) const = default;
  };
  // The ways in which a loop can compute a node. If all are false, no loop can.
  struct Traits {
    bool elementwise = false, affine = false, window = false;
    bool costly_read = false;  // Costs more to read than a stored array.
  };
  Traits TraitsOf(const Node& node) const;
  // Adds the paths by which loops read the node through this use. Returns false if they cannot compute it.
  bool AddPaths(const Node& node, const Traits& traits, const Uses::Use& use, std::vector<Path>* paths) const;
  bool ShouldFuse(const Node& node, const Traits& traits, const std::vector<Path>& paths) const;
  void Visit(const Node& node);
  void FindLoopInvariants(const std::vector<Node*>& nodes);
  // True if the node is invariant in the enclosing loop and costs more than reading its value.
  bool IsHoisted(const Node& node) const;
  static bool IsComputedOnce(const std::vector<Path>& paths);
  bool IsCheaperFused(const Node& node, const std::vector<Path>& paths) const;
  bool HasStoredOperands(const Node& concatenate, bool by_loop) const;
  bool CanBeGatherLoop(const Node& node) const;
  bool IsIndicesOfGather(const Node& node, const Uses::Use& use) const;
  bool IsReadAsIndices(const Node& node, const Uses::Use& use) const;
  bool IsReshapeOfIndices(const Node& node, const Uses::Use& use) const;
  bool IsMostlyPadding(const Node& pad) const;
  // True if the loop that computes a window reads the updated array at other positions than it writes.
  bool ReadsOutsideWindow(const Node& update, ValueId window) const;

  const Graph& graph_;
  const Uses& uses_;
  const bool enabled_;
  ChangeCounter& changes_;
  absl::flat_hash_map<const Node*, std::vector<Path>> paths_;  // Of fused nodes and gather loops.
  absl::flat_hash_map<const Node*, char> fused_, dead_, gather_loops_;
  absl::flat_hash_map<const Node*, int32_t> sizes_;
  // The nodes that are invariant in the enclosing loop, and the cost of computing an element.
  absl::flat_hash_map<const Node*, int64_t> invariant_;
};

}  // namespace hlo::plan
