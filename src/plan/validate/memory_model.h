#pragma once
// The validator's model of memory: the values that the bytes of each buffer hold at a point of the execution.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "plan/plan.h"

namespace hlo::plan {

class MemoryModel {
 public:
  using Values = absl::InlinedVector<ValueId, 2>;  // Sorted.

  // A result that may take the memory of a donated argument shares its bytes: what one holds is lost when the
  // other is written. Neither holds what was written to the other, as there may be no donation.
  explicit MemoryModel(const Plan& plan);

  // Internal if buffers leave the arena, or buffers that are exchanged differ or overlap.
  absl::Status CheckBuffers() const;

  // The buffer whose memory it is: the argument's where a result may take it.
  Slot Canonical(Slot slot) const { return canonical_[slot]; }
  bool Overlap(Slot a, Slot b) const;
  bool Holds(Slot slot, ValueId value) const;
  const Values& ValuesAt(Slot slot) const { return values_[slot]; }
  // The buffers that hold the value, of the plan's own and of arguments and constants.
  const absl::InlinedVector<Slot, 2>& HoldersOf(ValueId value) const { return holders_[RootOf(value)]; }

  // Forgets the values of every buffer that shares bytes with this one.
  void Overwrite(Slot slot);
  void Add(Slot slot, ValueId value);
  void Set(Slot slot, const Values& values);

  // Changes since a mark can be listed and undone.
  size_t Mark() const { return journal_.size(); }
  void RollBack(size_t mark);
  std::vector<Slot> ChangedSince(size_t mark) const;

 private:
  struct Region {
    int64_t begin, end;
  };

  // One value stands for all copies of a constant or an argument.
  ValueId RootOf(ValueId value) const { return roots_[value]; }
  bool IsInArena(Slot slot) const { return plan_.buffers[slot].kind == Buffer::Kind::kArena; }
  Region RegionOf(Slot slot) const {
    return {plan_.buffers[slot].offset, plan_.buffers[slot].offset + plan_.buffers[slot].byte_count};
  }
  void Exchange(Slot a, Slot b);
  void OverwriteRegion(Slot writer, Region region);
  void Forget(Slot slot);
  void Replace(Slot slot, Values values);

  const Plan& plan_;
  std::vector<ValueId> roots_;  // By value.
  std::vector<Slot> canonical_;
  absl::flat_hash_map<Slot, absl::InlinedVector<Slot, 1>>
      takers_;                                         // Results that may take an argument's memory.
  std::vector<Values> values_;                         // By slot.
  std::vector<absl::InlinedVector<Slot, 2>> holders_;  // By value.
  std::map<int64_t, Slot> active_;                     // Arena buffers that hold something, by their begin.
  std::vector<int32_t> class_of_;                      // By slot: buffers that exchange memory; -1: none.
  std::vector<std::vector<Slot>> classes_;
  std::vector<std::pair<Slot, Values>> journal_;  // The values that a slot held before each change.
};

}  // namespace hlo::plan
