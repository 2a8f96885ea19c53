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
  LoadCse(FrameAllocator& places, bool enabled, ChangeCounter& changes)
      : places_(places), enabled_(enabled), changes_(changes) {}

  // The slot, offset, maximum and stride of each index.
  using Indices = std::vector<std::tuple<Slot, int64_t, int64_t, int64_t>>;
  struct Piece {
    Slot slot;
    cpu::FramePlace address;
    int64_t offset, byte_count;
    auto operator<=>(const Piece&) const = default;
    template <class H>
    friend H AbslHashValue(H state, const Piece& piece) {
      return H::combine(std::move(state), piece.slot, piece.address, piece.offset, piece.byte_count);
    }
  };
  struct Entry {
    cpu::FramePlace place;
    bool is_new;  // The place must be filled.
  };
  Entry Address(const Indices& indices);
  Entry Load(const Piece& piece);

  void InvalidateLoads(Slot slot);
  // Invalidates the loads from the slots that the step writes, and the addresses computed from them.
  void InvalidateWrites(const Step& step);
  void InvalidateAll();

 private:
  template <class Map>
  Entry Find(Map& map, const typename Map::key_type& what);
  template <class Map, class Where>
  void Invalidate(Map& map, Where&& where);

  FrameAllocator& places_;
  const bool enabled_;
  ChangeCounter& changes_;
  absl::flat_hash_map<Indices, cpu::FramePlace> addresses_;
  absl::flat_hash_map<Piece, cpu::FramePlace> loads_;
};

}  // namespace hlo::plan
