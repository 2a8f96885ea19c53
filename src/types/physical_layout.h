#pragma once
// Where in memory does each element of an array lie? Dimension order, tiles, padding and packed elements:
// shape-rules 1.4 to 1.7.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/shape.h"
#include "types/index.h"

namespace hlo {

// What E(0) means for types narrower than a byte: a byte each, as in XLA's buffers, or side by side.
enum class NarrowElements : uint8_t { kWholeBytes, kPacked };

// Memory is a row of slots of equal width. Each element has one; the others are padding.
class PhysicalLayout {
 public:
  // Bounds stand for dynamic sizes. Unimplemented for arrays that are cut over several memories,
  // InvalidArgument for layouts without a meaning (unbounded sizes, `*` as last entry of a tile, elements
  // wider than their slot), ResourceExhausted where sizes do not fit into 64 bits.
  static absl::StatusOr<PhysicalLayout> Of(const Shape& array,
                                           NarrowElements narrow = NarrowElements::kWholeBytes);

  int64_t slot_bits() const { return slot_bits_; }
  // Slots of elements and padding, that at the tail included.
  int64_t slot_count() const { return slot_count_; }
  // Metadata in front of the first slot.
  int64_t prefix_byte_count() const { return prefix_byte_count_; }
  int64_t slots_byte_count() const { return slots_byte_count_; }
  // Prefix and slots.
  int64_t byte_count() const { return prefix_byte_count_ + slots_byte_count_; }

  // The slot of an element.
  int64_t Slot(const Index& element) const;
  // The slots of all elements, in logical row-major order.
  std::vector<int64_t> Slots() const;

  // Writes elements (dense, row-major, as literals keep them) to their slots, and reads them. `slots` begins
  // behind the prefix; Store leaves padding alone, so clear it first. Load takes the low-order bits of a slot
  // that is wider than its element.
  void Store(const std::byte* elements, std::byte* slots) const;
  void Load(const std::byte* slots, std::byte* elements) const;

 private:
  // One level of tiling, applied to the most minor dimensions.
  struct Level {
    int64_t prepended =
        0;         // Dimensions of size 1 put in front, so that the tile is not longer than the array.
    Index dims;    // The dimensions that the tile covers.
    Index merged;  // For each of them: 1 where it joins the next more minor one.
    Index tile;    // Sizes, one for each dimension after joining.
  };

  ElementType type_ = ElementType::kPred;
  Index dims_;  // Logical.
  Index major_to_minor_;
  std::vector<Level> levels_;
  Index slot_dims_;  // After the last level.
  int64_t slot_bits_ = 0;
  int64_t slot_count_ = 0;
  int64_t prefix_byte_count_ = 0;
  int64_t slots_byte_count_ = 0;
};

// Old layouts padded each dimension to a size of its own (`padded_dimensions`, by logical dimension): the
// tile that does the same.
Tile TileOfPaddedDimensions(absl::Span<const int64_t> minor_to_major,
                            absl::Span<const int64_t> padded_dimensions);

}  // namespace hlo
