#pragma once
// What code in a row has read already, and where it lies in the frame: pieces of arrays, and the places of
// pieces that indices say.

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/bytecode/frame_allocator.h"
#include "plan/plan.h"

namespace hlo::plan {

class KnownPieces {
 public:
  // Without `keeps` nothing is known after the step that read it.
  KnownPieces(FramePlaces& places, bool keeps) : places_(places), keeps_(keeps) {}

  // Slot, offset, max and stride of each.
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
  struct Known {
    cpu::FramePlace place;
    bool is_new;  // Nothing is there yet.
  };
  Known Address(const Indices& indices);
  Known Load(const Piece& piece);

  void ForgetLoads(Slot slot);
  // What the step changes is no longer known.
  void ForgetWrites(const Step& step);
  void ForgetAll();

 private:
  template <class Map>
  Known Find(Map& map, const typename Map::key_type& what);
  template <class Map, class Where>
  void Forget(Map& map, Where&& where);

  FramePlaces& places_;
  const bool keeps_;
  absl::flat_hash_map<Indices, cpu::FramePlace> addresses_;
  absl::flat_hash_map<Piece, cpu::FramePlace> loads_;
};

}  // namespace hlo::plan
