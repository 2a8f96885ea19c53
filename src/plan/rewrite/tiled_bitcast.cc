#include "plan/rewrite/tiled_bitcast.h"

#include <algorithm>
#include <vector>

#include "base/arithmetic.h"
#include "hlo_run/builder.h"
#include "plan/calls/replacement.h"
#include "types/index.h"
#include "types/physical_layout.h"

namespace hlo::plan {
namespace {

using build::Op;

constexpr int64_t kMaxElements = 1 << 24;  // Beyond, planning would take long.

// Moves an array to the order of its slots in memory, and back. Slots are a vector.
class SlotOrder {
 public:
  // The layout must be valid and have no merged dimensions.
  explicit SlotOrder(const Shape& shape) : order_(MajorToMinor(shape)), dims_(Pick(shape.dims(), order_)) {
    Index dims = dims_;
    for (const Tile& tile : shape.LayoutOrDefault().tiles) {
      levels_.push_back(LevelOf(tile, dims));
      dims = Pick(levels_.back().split, levels_.back().order);
    }
    slots_ = dims;
  }

  Op ToSlots(Op x) const {
    x = build::Transpose(x, order_);
    for (const Level& level : levels_) {
      const Op padding = x.ok() ? x.builder()->Constant(x.type(), 0) : Op();
      x = build::Pad(build::Reshape(x, level.dims), padding, level.padding);
      x = build::Transpose(build::Reshape(x, level.split), level.order);
    }
    return build::Reshape(x, {Product(slots_)});
  }
  Op FromSlots(Op x) const {
    x = build::Reshape(build::SliceInDim(x, 0, Product(slots_), 1, 0), slots_);
    for (size_t k = levels_.size(); k-- > 0;) {
      const Level& level = levels_[k];
      const Index before = k == 0 ? dims_ : Pick(levels_[k - 1].split, levels_[k - 1].order);
      x = build::Reshape(build::Transpose(x, Inverse(level.order)), level.padded);
      x = build::Slice(x, Zeros(level.dims.rank()), level.dims, Index(level.dims.rank(), 1));
      x = build::Reshape(x, before);
    }
    return build::Transpose(x, Inverse(order_));
  }

 private:
  // A level of tiles: the dimensions, with leading ones for long tiles; the dimensions padded to whole tiles;
  // these split into numbers of tiles and positions in a tile; and the order of the split dimensions.
  struct Level {
    Index dims, padded, split, order;
    std::vector<PaddingDim> padding;
  };
  static Level LevelOf(const Tile& tile, Index dims) {
    const auto rank = static_cast<int64_t>(tile.dimensions.size());
    dims.insert(dims.begin(), static_cast<size_t>(std::max<int64_t>(0, rank - dims.rank())), 1);
    Level level{.dims = dims};
    const int64_t first = dims.rank() - rank;
    Index inner;
    for (int64_t d = 0; d < dims.rank(); ++d) {
      const int64_t size = d < first ? 1 : tile.dimensions[static_cast<size_t>(d - first)];
      level.padded.push_back(CeilDiv(dims[d], size) * size);
      level.padding.push_back({.high = level.padded[d] - dims[d]});
      level.order.push_back(level.split.rank());
      level.split.push_back(level.padded[d] / size);
      if (d < first) continue;
      inner.push_back(level.split.rank());
      level.split.push_back(size);
    }
    level.order.insert(level.order.end(), inner.begin(), inner.end());
    return level;
  }

  Index order_, dims_;  // From major to minor.
  std::vector<Level> levels_;
  Index slots_;
};

bool HasSimpleTiles(const Shape& shape) {
  const Layout layout = shape.LayoutOrDefault();
  return layout.dynamic_shape_metadata_prefix_bytes == 0 &&
         std::all_of(layout.tiles.begin(), layout.tiles.end(), [](const Tile& tile) {
           return std::find(tile.dimensions.begin(), tile.dimensions.end(), Tile::kCombine) ==
                  tile.dimensions.end();
         });
}

// True if each element of the result is in the slot of an element of the operand.
bool ReadsElements(const PhysicalLayout& from, const PhysicalLayout& to) {
  if (to.slots_byte_count() > from.slots_byte_count()) return false;
  std::vector<bool> is_element(static_cast<size_t>(from.slot_count()));
  for (const int64_t slot : from.Slots()) is_element[static_cast<size_t>(slot)] = true;
  const std::vector<int64_t> read = to.Slots();
  return std::all_of(read.begin(), read.end(),
                     [&](int64_t slot) { return is_element[static_cast<size_t>(slot)]; });
}

// Moves elements in the order of dimensions alone.
Op WithoutTiles(Op x, const Shape& from, const Shape& to) {
  const Index order = MajorToMinor(to);
  x = build::Reshape(build::Transpose(x, MajorToMinor(from)), Pick(to.dims(), order));
  return build::Transpose(x, Inverse(order));
}

}  // namespace

std::optional<CheckedModule> ExpandTiledBitcast(const Instruction& bitcast) {
  const Shape &from = bitcast.operand(0)->shape(), &to = bitcast.shape();
  if (!from.IsArray() || !to.IsArray() || from.type() != to.type() || (IsUntiled(from) && IsUntiled(to)) ||
      !HasSimpleTiles(from) || !HasSimpleTiles(to))
    return std::nullopt;
  const auto memory = PhysicalLayout::Of(from, NarrowElements::kPacked);
  const auto result = PhysicalLayout::Of(to, NarrowElements::kPacked);
  if (!memory.ok() || !result.ok() || memory->slot_bits() != result->slot_bits()) return std::nullopt;
  build::Builder builder(bitcast.name());
  Op x = builder.Parameter(0, from.WithoutLayouts());
  if (HaveSameTiling(from, to)) {
    x = WithoutTiles(x, from, to);
  } else if (std::max(memory->slot_count(), result->slot_count()) > kMaxElements) {
    return std::nullopt;
  } else if (ReadsElements(*memory, *result)) {
    x = SlotOrder(to).FromSlots(SlotOrder(from).ToSlots(x));
  } else {
    x = WithoutTiles(x, from, to);
  }
  return x.ok() ? BuildReplacement(builder, {&x, 1}, bitcast) : std::nullopt;
}

}  // namespace hlo::plan
