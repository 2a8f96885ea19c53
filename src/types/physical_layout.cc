#include "types/physical_layout.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/status.h"
#include "fmt/format.h"
#include "types/packing.h"
#include "types/wide.h"

namespace hlo {
namespace {

// Actual layouts have two or three tiling levels, but text can contain any number.
constexpr int64_t kMaxSlotRank = 256;

absl::Status Refused(const Shape& shape, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("{} has no place in memory: {}", ToString(shape, {.layouts = true}), why));
}

absl::Status TooLarge(const Shape& shape) {
  return absl::ResourceExhaustedError(fmt::format("{} with its padding takes more bytes than 64 bits count",
                                                  ToString(shape, {.layouts = true})));
}

std::optional<int64_t> CheckedProduct(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size == 0) return 0;
  }
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

int64_t CeilOfQuotient(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// Merges each dimension (or index) marked in `merged` with the next more minor one.
Index Joined(const Index& values, const Index& dims, const Index& merged, bool are_indices) {
  Index joined;
  int64_t carry = are_indices ? 0 : 1;
  for (int64_t k = 0; k < dims.rank(); ++k) {
    const int64_t value = are_indices ? carry * dims[k] + values[k] : carry * values[k];
    carry = are_indices ? 0 : 1;
    if (merged[k] != 0)
      carry = value;
    else
      joined.push_back(value);
  }
  return joined;
}

// Returns the slot width in bits, or an error if the layout's E(n) is invalid.
absl::StatusOr<int64_t> SlotBits(const Shape& shape, NarrowElements narrow) {
  const ElementType type = shape.type();
  const int64_t declared = shape.layout() ? shape.layout()->element_size_in_bits : 0;
  if (declared == 0) return narrow == NarrowElements::kPacked ? PackedBits(type) : 8 * ByteCount(type);
  const bool regular = declared == 1 || declared == 2 || declared == 4 || (declared > 0 && declared % 8 == 0);
  const int64_t least = BitWidth(type) < 8 ? BitWidth(type) : 8 * ByteCount(type);
  if (!regular || declared < least) {
    return Refused(shape,
                   fmt::format("E({}) should be 0, {}a whole number of bytes, and at least the {} bits of {}",
                               declared, least < 8 ? "1, 2, 4 or " : "", least, Name(type)));
  }
  return declared;
}

// Returns the sizes that determine element positions, from major to minor; dimensions of size 1 do not matter
// unless a tile covers them.
Index SizesInMemory(const Shape& shape) {
  Index sizes = Pick(shape.dims(), MajorToMinor(shape));
  int64_t tiled = 0;
  if (shape.layout() != nullptr) {
    for (const Tile& tile : shape.layout()->tiles) tiled += static_cast<int64_t>(tile.dimensions.size());
  }
  const int64_t free = std::max<int64_t>(0, sizes.rank() - tiled);
  sizes.erase(std::remove(sizes.begin(), sizes.begin() + free, 1), sizes.begin() + free);
  sizes.insert(sizes.begin(), static_cast<size_t>(std::max<int64_t>(0, tiled - sizes.rank())), 1);
  return sizes;
}

}  // namespace

absl::StatusOr<PhysicalLayout> PhysicalLayout::Of(const Shape& array, NarrowElements narrow) {
  const Layout layout = array.LayoutOrDefault();
  if (array.HasUnboundedDim()) return Refused(array, "a size is not known");
  if (static_cast<int64_t>(layout.minor_to_major.size()) != array.rank())
    return Refused(array, "the layout orders another number of dimensions");
  if (!layout.split_configs.empty()) {
    return absl::UnimplementedError(
        fmt::format("{} is cut over several memories, so it is not a single row of bytes",
                    ToString(array, {.layouts = true})));
  }
  PhysicalLayout physical;
  physical.type_ = array.type();
  physical.dims_ = Index(array.dims());
  physical.major_to_minor_ = Index(layout.minor_to_major.rbegin(), layout.minor_to_major.rend());
  physical.prefix_byte_count_ = layout.dynamic_shape_metadata_prefix_bytes;
  if (physical.prefix_byte_count_ < 0) return Refused(array, "M(n) is negative");
  HLO_ASSIGN_OR_RETURN(physical.slot_bits_, SlotBits(array, narrow));

  Index dims = Pick(array.dims(), physical.major_to_minor_);
  for (const Tile& tile : layout.tiles) {
    Level level;
    const auto tile_rank = static_cast<int64_t>(tile.dimensions.size());
    level.prepended = std::max<int64_t>(0, tile_rank - dims.rank());
    dims.insert(dims.begin(), static_cast<size_t>(level.prepended), 1);
    level.dims = Index(absl::MakeSpan(dims).last(static_cast<size_t>(tile_rank)));
    for (int64_t k = 0; k < tile_rank; ++k) {
      const bool joins = tile.dimensions[k] == Tile::kCombine;
      if (joins && k + 1 == tile_rank) return Refused(array, "a tile ends in *");
      if (!joins && tile.dimensions[k] <= 0)
        return Refused(array, "a tile has an entry that is not positive");
      level.merged.push_back(joins);
      if (!joins) level.tile.push_back(tile.dimensions[k]);
    }
    // The product of the merged dimensions must not overflow, even if another dimension is 0.
    Index extents = level.dims;
    for (int64_t& extent : extents) extent = std::max<int64_t>(1, extent);
    if (!CheckedProduct(extents)) return TooLarge(array);
    const Index suffix = Joined(level.dims, level.dims, level.merged, /*are_indices=*/false);
    dims.resize(dims.size() - static_cast<size_t>(tile_rank));
    for (int64_t k = 0; k < suffix.rank(); ++k) dims.push_back(CeilOfQuotient(suffix[k], level.tile[k]));
    dims.insert(dims.end(), level.tile.begin(), level.tile.end());
    if (dims.rank() > kMaxSlotRank) return Refused(array, "it has too many tiles");
    physical.levels_.push_back(std::move(level));
  }

  const std::optional<int64_t> slots = CheckedProduct(dims);
  const int64_t alignment = layout.tiles.empty() ? 1 : layout.tail_padding_alignment_in_elements;
  if (alignment < 1) return Refused(array, "L(n) is not positive");
  int64_t bits = 0;
  if (!slots || __builtin_mul_overflow(CeilOfQuotient(*slots, alignment), alignment, &physical.slot_count_) ||
      __builtin_mul_overflow(physical.slot_count_, physical.slot_bits_, &bits)) {
    return TooLarge(array);
  }
  physical.slots_byte_count_ = CeilOfQuotient(bits, 8);
  int64_t all = 0;
  if (__builtin_add_overflow(physical.slots_byte_count_, physical.prefix_byte_count_, &all))
    return TooLarge(array);
  physical.slot_dims_ = std::move(dims);
  return physical;
}

int64_t PhysicalLayout::Slot(const Index& element) const {
  Index place = Pick(element, major_to_minor_);
  for (const Level& level : levels_) {
    place.insert(place.begin(), static_cast<size_t>(level.prepended), 0);
    const Index suffix(absl::MakeSpan(place).last(level.dims.size()));
    const Index joined = Joined(suffix, level.dims, level.merged, /*are_indices=*/true);
    place.resize(place.size() - level.dims.size());
    for (int64_t k = 0; k < joined.rank(); ++k) place.push_back(joined[k] / level.tile[k]);
    for (int64_t k = 0; k < joined.rank(); ++k) place.push_back(joined[k] % level.tile[k]);
  }
  int64_t slot = 0;
  for (int64_t k = 0; k < place.rank(); ++k) slot = slot * slot_dims_[k] + place[k];
  return slot;
}

std::vector<int64_t> PhysicalLayout::Slots() const {
  std::vector<int64_t> slots;
  if (std::find(dims_.begin(), dims_.end(), 0) != dims_.end()) return slots;
  slots.reserve(static_cast<size_t>(Product(dims_)));
  const bool joins = std::any_of(levels_.begin(), levels_.end(),
                                 [](const Level& level) { return level.tile.size() != level.dims.size(); });
  if (joins) {
    for (const Index& i : EachIndex(dims_)) slots.push_back(Slot(i));
    return slots;
  }
  // Without merged dimensions, a slot number is the sum of one term per dimension.
  slots.push_back(0);
  for (int64_t d = 0; d < dims_.rank(); ++d) {
    std::vector<int64_t> parts;
    Index along = Zeros(dims_.rank());
    for (along[d] = 0; along[d] < dims_[d]; ++along[d]) parts.push_back(Slot(along));
    std::vector<int64_t> longer;
    longer.reserve(slots.size() * parts.size());
    for (int64_t slot : slots) {
      for (int64_t part : parts) longer.push_back(slot + part);
    }
    slots = std::move(longer);
  }
  return slots;
}

void PhysicalLayout::Store(const std::byte* elements, std::byte* slots) const {
  const std::vector<int64_t> places = Slots();
  const int64_t width = ByteCount(type_), bits = BitWidth(type_);
  for (size_t i = 0; i < places.size(); ++i) {
    const std::byte* element = elements + static_cast<int64_t>(i) * width;
    const int64_t at = places[i] * slot_bits_;
    if (bits >= 8) {
      std::memcpy(slots + at / 8, element, static_cast<size_t>(width));
      continue;
    }
    const uint64_t code = ZeroExtend(static_cast<uint8_t>(*element), bits);
    const uint64_t mask = slot_bits_ < 8 ? (uint64_t{1} << slot_bits_) - 1 : 0xff;
    auto byte = static_cast<uint64_t>(slots[at / 8]);
    byte = (byte & ~(mask << at % 8)) | code << at % 8;
    slots[at / 8] = static_cast<std::byte>(byte);
  }
}

void PhysicalLayout::Load(const std::byte* slots, std::byte* elements) const {
  const std::vector<int64_t> places = Slots();
  const int64_t width = ByteCount(type_), bits = BitWidth(type_);
  for (size_t i = 0; i < places.size(); ++i) {
    std::byte* element = elements + static_cast<int64_t>(i) * width;
    const int64_t at = places[i] * slot_bits_;
    if (bits >= 8) {
      std::memcpy(element, slots + at / 8, static_cast<size_t>(width));
      continue;
    }
    const auto code = static_cast<uint8_t>(static_cast<uint8_t>(slots[at / 8]) >> at % 8);
    if (IsPred(type_) && slot_bits_ >= 8)
      *element = std::byte{code != 0};
    else
      *element = IsSigned(type_) ? static_cast<std::byte>(SignExtend(code, bits))
                                 : static_cast<std::byte>(ZeroExtend(code, bits));
  }
}

Index MajorToMinor(const Shape& shape) {
  const Layout layout = shape.LayoutOrDefault();
  return Index(layout.minor_to_major.rbegin(), layout.minor_to_major.rend());
}

bool HaveSameTiling(const Shape& a, const Shape& b) {
  return a.layout() != nullptr && b.layout() != nullptr && a.layout()->tiles == b.layout()->tiles &&
         a.layout()->element_size_in_bits == b.layout()->element_size_in_bits &&
         PackedBits(a.type()) == PackedBits(b.type()) && SizesInMemory(a) == SizesInMemory(b);
}

bool IsUntiled(const Shape& shape) {
  const Layout* layout = shape.layout();
  return layout == nullptr ||
         (layout->tiles.empty() && layout->split_configs.empty() &&
          layout->tail_padding_alignment_in_elements == 1 &&
          (layout->element_size_in_bits == 0 || layout->element_size_in_bits == PackedBits(shape.type())));
}

Tile TileOfPaddedDimensions(absl::Span<const int64_t> minor_to_major,
                            absl::Span<const int64_t> padded_dimensions) {
  Tile tile;
  for (size_t k = minor_to_major.size(); k-- > 0;)
    tile.dimensions.push_back(padded_dimensions[minor_to_major[k]]);
  return tile;
}

}  // namespace hlo
