#pragma once
// The slots whose address is constant while the plan's code runs.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/plan.h"

namespace hlo::plan {

// Arena slots that are never swapped, and inputs that are never overwritten.
class StableSlots {
 public:
  // Turns swaps of small buffers into copies.
  explicit StableSlots(Plan& plan) : plan_(plan) { Walk(plan.steps); }
  bool Contains(Slot slot) const {
    return plan_.buffers[slot].kind == Buffer::Kind::kArena && !swapped_.contains(slot);
  }
  // True if the source of the move is dead afterwards.
  bool IsLastUse(const Move& move) const { return dead_sources_.contains({move.to, move.from}); }
  bool IsInput(Slot slot) const {
    const Buffer::Kind kind = plan_.buffers[slot].kind;
    return (kind == Buffer::Kind::kParameter || kind == Buffer::Kind::kConstant) && !writes_.contains(slot);
  }
  // True if a single step writes the slot.
  bool IsWrittenOnce(Slot slot) const {
    const auto found = writes_.find(slot);
    return found != writes_.end() && found->second == 1;
  }

 private:
  void Walk(std::vector<Step>& steps);
  void Walk(std::vector<Move>& moves);

  Plan& plan_;
  absl::flat_hash_set<Slot> swapped_;
  absl::flat_hash_map<Slot, int64_t> writes_;
  absl::flat_hash_set<std::pair<Slot, Slot>> dead_sources_;
};

}  // namespace hlo::plan
