#pragma once
// Which slots' memory stays where it is while the plan's code runs?

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/plan.h"

namespace hlo::plan {

// Slots of the arena whose memory stays where it is, and others whose contents do.
class FixedSlots {
 public:
  // Small buffers that would change places are copied from here on.
  explicit FixedSlots(Plan& plan) : plan_(plan) { Walk(plan.steps); }
  bool Contains(Slot slot) const {
    return plan_.buffers[slot].kind == Buffer::Kind::kArena && !exchanged_.contains(slot);
  }
  // Whether nothing needs what the move leaves where it comes from.
  bool IsLastUse(const Move& move) const { return interchangeable_.contains({move.to, move.from}); }
  bool IsGiven(Slot slot) const {
    const Buffer::Kind kind = plan_.buffers[slot].kind;
    return (kind == Buffer::Kind::kParameter || kind == Buffer::Kind::kConstant) && !writes_.contains(slot);
  }
  // Whether one step computes all that ever lies there.
  bool IsWrittenOnce(Slot slot) const {
    const auto found = writes_.find(slot);
    return found != writes_.end() && found->second == 1;
  }

 private:
  void Walk(std::vector<Step>& steps);
  void Walk(std::vector<Move>& moves);

  Plan& plan_;
  absl::flat_hash_set<Slot> exchanged_;
  absl::flat_hash_map<Slot, int64_t> writes_;
  absl::flat_hash_set<std::pair<Slot, Slot>> interchangeable_;
};

}  // namespace hlo::plan
