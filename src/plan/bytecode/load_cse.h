#pragma once
// Common subexpression elimination for loads: the loads and address computations of straight-line code whose
// value is still in the frame.

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/bytecode/frame_allocator.h"
#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

class LoadCse {
 public:
  // If `enabled` is false, values are reused only within the step that loads them.
  LoadCse(FrameAllocator& frame, bool enabled, ChangeCounter& changes)
      : frame_(frame), enabled_(enabled), changes_(changes) {}

  // The slot, offset, maximum and stride of each index.
  using Indices = std::vector<std::tuple<Slot, int64_t, int64_t, int64_t>>;
  // The bytes from `offset` on of a slot's buffer; `address` is the frame's offset of an integer that is
  // added, or Bytecode::kNoAddress.
  struct MemoryRange {
    Slot slot;
    cpu::FrameOffset address;
    int64_t offset, byte_count;
    auto operator<=>(const MemoryRange&) const = default;
    template <class H>
    friend H AbslHashValue(H state, const MemoryRange& range) {
      return H::combine(std::move(state), range.slot, range.address, range.offset, range.byte_count);
    }
  };
  struct Entry {
    cpu::FrameOffset offset;
    bool is_new;  // The bytes at the offset must be filled.
  };
  // Returns the frame's offset of the address that these indices give, a 64-bit integer; allocates it if no
  // earlier one can be reused.
  Entry Address(const Indices& indices);
  // Does the same for the bytes of a range of memory.
  Entry Load(const MemoryRange& range);

  // Invalidates the loads from a slot to which the code stores.
  void InvalidateLoads(Slot slot);
  // Invalidates the loads from the slots that the step writes, and the addresses computed from them.
  void InvalidateWrites(const Step& step);
  void InvalidateAll();

 private:
  template <class Map>
  Entry Find(Map& map, const typename Map::key_type& what);
  template <class Map, class Where>
  void Invalidate(Map& map, Where&& where);

  FrameAllocator& frame_;
  const bool enabled_;
  ChangeCounter& changes_;
  absl::flat_hash_map<Indices, cpu::FrameOffset> addresses_;
  absl::flat_hash_map<MemoryRange, cpu::FrameOffset> loads_;
};

}  // namespace hlo::plan
