#pragma once
// Which loops run as one? Those over the same positions that read or compute something in common: a tile is
// then used while it is in the cache, and a value that nothing else needs is never stored.

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/uses.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/graph.h"

namespace hlo::plan {

struct MergedLoop {
  std::vector<const Node*> roots;  // In order; the loop runs in place of the last one.
  std::vector<ValueId> stored;     // Those of their results that others need.
  // A dynamic-update-slice with the elements of one of them, which comes last; nullptr: none.
  const Node* update = nullptr;
  ValueId updating = kNoValue;  // The root's value.
};

class Merges {
 public:
  // Without `fuses` every root has a loop of its own.
  Merges(const Graph& graph, const Uses& uses, const Groups& groups, bool fuses = true);

  // The loop of a node that no other one computes, or of an update; nullptr where it has its loop for itself.
  const MergedLoop* LoopOf(const Node& node) const;

 private:
  // A loop that may take further roots: nothing after it has read what it computes.
  struct Open {
    int32_t loop;
    int64_t op_count = 0;
    bool varies = false;
    std::vector<ValueId> outputs, loads, reads;  // Loads at the loop's position alone; all.
  };
  // What a root reads from memory, and whether only at its own position.
  using Loads = absl::flat_hash_map<ValueId, bool>;
  Loads LoadsOf(const Node& root, int64_t* op_count) const;
  bool Varies(const Node& node);
  bool Takes(const Open& open, const Node& root, const Loads& loads, int64_t op_count, bool varies) const;
  bool IsStored(const Node& root, int32_t loop) const;
  ValueId SourceOf(ValueId update) const;
  bool JoinUpdate(const Node& node, bool varies, std::vector<Open>& open);
  void Visit(const Block& block);

  const Graph& graph_;
  const Uses& uses_;
  const Groups& groups_;
  std::deque<MergedLoop> loops_;
  absl::flat_hash_map<const Node*, int32_t> loop_of_;
  absl::flat_hash_map<const Node*, bool> varies_;
};

}  // namespace hlo::plan
