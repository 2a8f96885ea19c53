#pragma once
// Which instructions become one loop? Elementwise ones and those that only choose other positions (broadcast,
// transpose, slice, reverse, iota, pad, gather,
// concatenate) join the one that uses them; kernels then read through
// strides, up to edges, and where indices say.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/uses.h"
#include "plan/graph.h"

namespace hlo::plan {

// More operations in one loop do not pay: their tiles no longer fit the cache.
inline constexpr int32_t kMostInLoop = 96;

class Groups {
 public:
  // Without `fuses` every node is computed by a step of its own.
  Groups(const Graph& graph, const Uses& uses, bool fuses = true);

  // Whether the node's value is computed by the loops of its users alone.
  bool IsInlined(const Node& node) const { return inlined_.contains(&node); }
  // Of an inlined elementwise node: the one whose loop computes it. nullptr for others, which several may
  // compute.
  const Node* RootOf(const Node& node) const;
  // Whether anything needs the value.
  bool IsUsed(ValueId v) const;
  // Whether nothing needs the node.
  bool IsDead(const Node& node) const { return dead_.contains(&node); }

 private:
  struct Path {
    const Node* root = nullptr;
    int32_t operand = 0;   // Of roots that walk each operand in a loop of its own.
    bool identity = true;  // Position for position.
    bool expands = false;  // Through a broadcast.
    bool piece = false;    // Through a concatenation, whose operands lie in memory.
    bool operator==(const Path&) const = default;
  };
  void Decide(const Node& node);
  void FindInvariants();
  static bool IsOnce(const std::vector<Path>& paths);
  bool IsReadThrough(const Node& node, const std::vector<Path>& paths) const;
  bool HasPiecesAtHand(const Node& concatenate) const;
  bool Enlarges(const Node& pad) const;
  // Whether the loop that computes a window for an update reads what that changes, other than where it
  // writes.
  bool ReadsElsewhere(const Node& update, ValueId window) const;

  const Graph& graph_;
  const Uses& uses_;
  const bool fuses_;
  absl::flat_hash_map<const Node*, std::vector<Path>> paths_;  // Empty list: a root.
  absl::flat_hash_map<const Node*, char> inlined_, dead_;
  absl::flat_hash_map<const Node*, int32_t> sizes_;
  // What every turn of the loop around it computes alike; true: and takes longer than reading it.
  absl::flat_hash_map<const Node*, bool> invariant_;
};

}  // namespace hlo::plan
