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

  // A result that may reuse a donated argument shares its bytes: writing one invalidates the other. Neither
  // holds the values of the other, as there may be no donation.
  explicit MemoryModel(const Plan& plan);

  // Returns Internal if buffers leave the arena, or if swapped buffers differ in size or overlap.
  absl::Status CheckBuffers() const;

  // Returns the buffer that owns the memory: the argument's if a result may reuse it.
  Slot Canonical(Slot slot) const { return canonical_[slot]; }
  bool Overlap(Slot a, Slot b) const;
  bool Holds(Slot slot, ValueId value) const;
  const Values& ValuesAt(Slot slot) const { return values_[slot]; }
  // The buffers that hold the value, arguments and constants included.
  const absl::InlinedVector<Slot, 2>& HoldersOf(ValueId value) const { return holders_[RootOf(value)]; }

  // Invalidates the values of every buffer that overlaps this one.
  void Overwrite(Slot slot);
  void Add(Slot slot, ValueId value);
  void Set(Slot slot, const Values& values);

  // Changes since a mark can be listed and rolled back.
  size_t Mark() const { return journal_.size(); }
  void RollBack(size_t mark);
  std::vector<Slot> ChangedSince(size_t mark) const;

 private:
  struct Region {
    int64_t begin, end;
  };

  // All copies of a constant or an argument have one root.
  ValueId RootOf(ValueId value) const { return roots_[value]; }
  bool IsInArena(Slot slot) const { return plan_.buffers[slot].kind == Buffer::Kind::kArena; }
  Region RegionOf(Slot slot) const {
    return {plan_.buffers[slot].offset, plan_.buffers[slot].offset + plan_.buffers[slot].byte_count};
  }
  void Swap(Slot a, Slot b);
  void OverwriteRegion(Slot writer, Region region);
  void Invalidate(Slot slot);
  void Replace(Slot slot, Values values);

  const Plan& plan_;
  std::vector<ValueId> roots_;  // Indexed by value.
  std::vector<Slot> canonical_;
  absl::flat_hash_map<Slot, absl::InlinedVector<Slot, 1>>
      donations_;                                      // Results that may reuse an argument's memory.
  std::vector<Values> values_;                         // Indexed by slot.
  std::vector<absl::InlinedVector<Slot, 2>> holders_;  // Indexed by value.
  std::map<int64_t, Slot> active_;                     // Arena buffers that hold values, keyed by offset.
  std::vector<int32_t> class_of_;  // The class of buffers that swap memory, by slot; -1: none.
  std::vector<std::vector<Slot>> classes_;
  std::vector<std::pair<Slot, Values>> journal_;  // The values of a slot before each change.
};

}  // namespace hlo::plan
