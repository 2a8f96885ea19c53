#pragma once
// Live slots at the steps of a plan, for the verifier of bytecode.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/arithmetic.h"
#include "plan/plan.h"

namespace hlo::plan {

// A set of slots as bits.
class SlotSet {
 public:
  SlotSet() = default;
  explicit SlotSet(size_t slots) : words_(CeilDiv(slots, 64)) {}
  void Add(Slot slot) { words_[slot / 64] |= uint64_t{1} << (slot % 64); }
  void Remove(Slot slot) { words_[slot / 64] &= ~(uint64_t{1} << (slot % 64)); }
  bool Contains(Slot slot) const { return (words_[slot / 64] >> (slot % 64) & 1) != 0; }
  // Returns true if it adds any.
  bool AddAll(const SlotSet& other);
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t left = words_[w]; left != 0; left &= left - 1)
        visit(static_cast<Slot>(w * 64 + __builtin_ctzll(left)));
    }
  }

 private:
  std::vector<uint64_t> words_;
};

class StepLiveness {
 public:
  explicit StepLiveness(const Plan& plan);

  // The live slots before each test of a loop's condition, or after the branches of a conditional.
  const SlotSet& At(const Step& step) const { return at_.at(&step); }
  const SlotSet& AtEnd() const { return at_end_; }

 private:
  SlotSet Before(const std::vector<Step>& steps, SlotSet live);
  SlotSet Before(const Step& step, SlotSet live);
  static SlotSet Before(const std::vector<Move>& moves, const SlotSet& live);

  const Plan& plan_;
  absl::flat_hash_map<const Step*, SlotSet> at_, after_condition_;
  SlotSet at_end_;
};

}  // namespace hlo::plan
