#pragma once
// Maps the elements of an array to memory: minor-to-major order, tiles, padding and packed elements
// (shape-rules 1.4 to 1.7).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/shape.h"
#include "types/index.h"

namespace hlo {

// The meaning of E(0) for types narrower than a byte: one byte each, as in XLA's buffers, or packed.
enum class NarrowElements : uint8_t { kWholeBytes, kPacked };

// Memory as a sequence of slots of equal width. Each element has a slot; the other slots are padding.
class PhysicalLayout {
 public:
  // Creates the layout of an array; bounds replace dynamic sizes. Errors: Unimplemented for arrays that are
  // split over several memories; InvalidArgument for meaningless layouts (unbounded sizes, `*` as the last
  // entry of a tile, elements wider than their slot); ResourceExhausted if sizes overflow 64 bits.
  static absl::StatusOr<PhysicalLayout> Of(const Shape& array,
                                           NarrowElements narrow = NarrowElements::kWholeBytes);

  int64_t slot_bits() const { return slot_bits_; }
  // Counts the slots of elements and padding, including tail padding.
  int64_t slot_count() const { return slot_count_; }
  // Returns the bytes of metadata before the first slot.
  int64_t prefix_byte_count() const { return prefix_byte_count_; }
  int64_t slots_byte_count() const { return slots_byte_count_; }
  // Returns the bytes of prefix and slots.
  int64_t byte_count() const { return prefix_byte_count_ + slots_byte_count_; }

  // Returns the slot of an element.
  int64_t Slot(const Index& element) const;
  // Returns the slots of all elements in logical row-major order.
  std::vector<int64_t> Slots() const;

  // Store writes dense row-major elements to their slots, Load reads them. `slots` starts after the prefix.
  // Store leaves padding unchanged, so callers clear it first. Load reads the low-order bits of a slot that
  // is wider than its element.
  void Store(const std::byte* elements, std::byte* slots) const;
  void Load(const std::byte* slots, std::byte* elements) const;

 private:
  // A level of tiling, applied to the most minor dimensions.
  struct Level {
    int64_t prepended =
        0;         // Leading dimensions of size 1 added if the tile has a higher rank than the array.
    Index dims;    // The dimensions that the tile covers.
    Index merged;  // 1 for dimensions that merge with the next more minor one.
    Index tile;    // Tile sizes, one per merged dimension.
  };

  ElementType type_ = ElementType::kPred;
  Index dims_;  // In logical order.
  Index major_to_minor_;
  std::vector<Level> levels_;
  Index slot_dims_;  // After the last level.
  int64_t slot_bits_ = 0;
  int64_t slot_count_ = 0;
  int64_t prefix_byte_count_ = 0;
  int64_t slots_byte_count_ = 0;
};

// True if elements are contiguous in the order of dimensions: without tiles, padding, parts in several
// memories, or slots that are wider than an element.
bool IsUntiled(const Shape& shape);

// Returns the dimensions from the most major to the most minor one.
Index MajorToMinor(const Shape& shape);

// True if the tiles of two arrays are equivalent, so that the dimension orders determine a bitcast.
bool HaveSameTiling(const Shape& a, const Shape& b);

// Returns the tile that is equivalent to `padded_dimensions`, an older form of layouts that padded each
// logical dimension to a given size.
Tile TileOfPaddedDimensions(absl::Span<const int64_t> minor_to_major,
                            absl::Span<const int64_t> padded_dimensions);

}  // namespace hlo
