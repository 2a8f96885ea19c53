#pragma once
// Sibling fusion: loops over the same positions that share operands or results become one loop. Tiles are
// then read while they are in the cache, and values that nothing else reads are never stored.

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/uses.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/graph.h"

namespace hlo::plan {

struct FusedLoop {
  std::vector<const Node*> roots;  // In program order; the loop replaces the last one.
  std::vector<ValueId> stored;     // The results that have other users.
  // A dynamic-update-slice of one of the results, as the last store; nullptr: none.
  const Node* update = nullptr;
  ValueId updating = kNoValue;  // The value that the update stores.
};

class SiblingFusion {
 public:
  // If `enabled` is false, every root has its own loop.
  SiblingFusion(const Graph& graph, const Uses& uses, const LoopFusion& fusion, bool enabled,
                ChangeCounter& changes);

  // Returns the loop of a root or of an update; nullptr if it contains no other root.
  const FusedLoop* LoopOf(const Node& node) const;

 private:
  // A loop to which further roots can be added: no later node has read its outputs.
  struct OpenLoop {
    int32_t loop;
    int64_t op_count = 0;
    bool is_variant = false;
    std::vector<ValueId> outputs, loads, reads;  // Loads at the loop's position only; all loads.
  };
  // The values that a root loads; true if only at its own position.
  using Loads = absl::flat_hash_map<ValueId, bool>;
  Loads LoadsOf(const Node& root, int64_t* op_count) const;
  bool IsLoopVariant(const Node& node);
  bool CanFuse(const OpenLoop& open, const Node& root, const Loads& loads, int64_t op_count,
               bool is_variant) const;
  bool IsStored(const Node& root, int32_t loop) const;
  ValueId SourceOf(ValueId update) const;
  bool FuseUpdate(const Node& node, bool is_variant, std::vector<OpenLoop>& open);
  void Visit(const Block& block);

  const Graph& graph_;
  const Uses& uses_;
  const LoopFusion& fusion_;
  ChangeCounter& changes_;
  std::deque<FusedLoop> loops_;
  absl::flat_hash_map<const Node*, int32_t> loop_of_;
  absl::flat_hash_map<const Node*, bool> variant_;
};

}  // namespace hlo::plan
