#include "spmd/shards.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "fmt/format.h"
#include "types/scalar_ops.h"
#include "types/view.h"
#include "types/wide.h"

namespace hlo::spmd {

TileExtent ExtentOf(const Index& tile, absl::Span<const int64_t> dims, const Index& tile_dims) {
  TileExtent extent = {Zeros(tile.rank()), Zeros(tile.rank())};
  for (int64_t d = 0; d < tile.rank(); ++d) {
    extent.offset[d] = std::min(tile[d] * tile_dims[d], dims[d]);
    extent.size[d] = std::min(tile_dims[d], dims[d] - extent.offset[d]);
  }
  return extent;
}

bool HaveEqualSubgroups(const Placement& a, const Placement& b) {
  return a.manual == b.manual && a.unreduced == b.unreduced && a.replicated == b.replicated;
}

namespace {

absl::Status CheckArray(const Shape& shape, const TileMap& map) {
  if (!shape.IsArray() || shape.rank() != map.tile_counts().rank())
    return absl::FailedPreconditionError(
        fmt::format("a sharding of {} dimensions splits {}", map.tile_counts().rank(), ToString(shape)));
  return absl::OkStatus();
}

template <class Op>
absl::Status FoldInto(Literal& sum, const Literal& term) {
  HLO_RETURN_IF_ERROR(sum.MakeUnique());
  DispatchWide(sum.type(), [&]<class W>() {
    if constexpr (requires(W a) { Op{}(a, a); }) {
      const LoadFn<W> load = Loader<W>(sum.type());
      const StoreFn<W> store = Storer<W>(sum.type());
      for (int64_t i = 0; i < sum.element_count(); ++i)
        store(sum.mutable_data(), i, Op{}(load(sum.data(), i), load(term.data(), i)));
    }
  });
  return absl::OkStatus();
}

absl::Status Fold(Sharding::Reduction reduction, Literal& sum, const Literal& term) {
  switch (reduction) {
    case Sharding::Reduction::kSum:
      return FoldInto<scalar::Add>(sum, term);
    case Sharding::Reduction::kMax:
      return FoldInto<scalar::Maximum>(sum, term);
    case Sharding::Reduction::kMin:
      return FoldInto<scalar::Minimum>(sum, term);
  }
  return absl::OkStatus();
}

// Returns the partition that holds an element of the joined array; of several terms, the first one.
int64_t HolderOf(const Index& index, const TileMap& map, const Index& tile_dims, int64_t replicated) {
  for (int64_t p = 0; p < map.partitions(); ++p) {
    const Placement& place = map.at(p);
    bool holds = place.replicated == replicated && place.unreduced == 0;
    for (int64_t d = 0; d < index.rank() && holds; ++d) holds = index[d] / tile_dims[d] == place.tile[d];
    if (holds) return p;
  }
  return 0;
}

// Returns the linear index of the first element with different bits; -1 if there is none.
int64_t FirstDifference(const Literal& a, const Literal& b) {
  const auto bytes = static_cast<size_t>(a.byte_count());
  if (a.data() == b.data() || bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0) return -1;
  const auto* first = std::mismatch(a.data(), a.data() + bytes, b.data()).first;
  return (first - a.data()) / ByteCount(a.type());
}

Index IndexAt(int64_t linear, absl::Span<const int64_t> dims) {
  Index index = Zeros(static_cast<int64_t>(dims.size()));
  for (int64_t d = index.rank(); d-- > 0;) {
    index[d] = linear % dims[d];
    linear /= dims[d];
  }
  return index;
}

}  // namespace

absl::StatusOr<Literal> TileOf(const Literal& array, const TileMap& map, int64_t partition) {
  HLO_RETURN_IF_ERROR(CheckArray(array.shape(), map));
  if (map.IsWhole()) return array;
  if (array.has_dynamic_sizes())
    return absl::UnimplementedError("arrays of dynamic sizes are not split by a sharding");
  const Index tile_dims = map.TileDims(array.dims());
  const TileExtent extent = ExtentOf(map.at(partition).tile, array.dims(), tile_dims);
  HLO_ASSIGN_OR_RETURN(Literal tile, Literal::CreateZeros(Shape::Array(array.type(), tile_dims)));
  CopyElements(ByteCount(array.type()), array.data(),
               View::Dense(array.dims()).Window(extent.offset, extent.size), tile.mutable_data(),
               View::Dense(tile_dims).Window(Zeros(tile_dims.rank()), extent.size));
  return tile;
}

absl::StatusOr<Literal> AssembleTiles(absl::Span<const Literal> tiles, const TileMap& map, const Shape& shape,
                                      const Placement& like) {
  HLO_RETURN_IF_ERROR(CheckArray(shape, map));
  const Index tile_dims = map.TileDims(shape.dims());
  Literal array;
  if (!map.IsWhole()) {
    HLO_ASSIGN_OR_RETURN(array, Literal::Create(shape));
  }
  for (int64_t p = 0; p < map.partitions(); ++p) {
    const Placement& place = map.at(p);
    if (!HaveEqualSubgroups(place, like)) continue;
    const Literal& tile = tiles[p];
    if (!tile.shape().IsArray(shape.type()) || tile.dims() != absl::MakeConstSpan(tile_dims)) {
      return absl::FailedPreconditionError(fmt::format("partition {} holds {}, but its tile of {} is {}", p,
                                                       ToString(tile.shape()), ToString(shape),
                                                       ToString(Shape::Array(shape.type(), tile_dims))));
    }
    if (map.IsWhole()) return tile.WithShape(shape);
    const TileExtent extent = ExtentOf(place.tile, shape.dims(), tile_dims);
    CopyElements(ByteCount(shape.type()), tile.data(),
                 View::Dense(tile_dims).Window(Zeros(tile_dims.rank()), extent.size), array.mutable_data(),
                 View::Dense(shape.dims()).Window(extent.offset, extent.size));
  }
  return array;
}

absl::StatusOr<JoinedArray> JoinTiles(absl::Span<const Literal> tiles, const TileMap& map,
                                      const Shape& shape) {
  if (map.manual_count() > 1)
    return absl::FailedPreconditionError("values with a manual sharding are not parts of one array");
  JoinedArray joined;
  for (int64_t copy = 0; copy < map.replicated_count(); ++copy) {
    Literal value;
    for (int64_t term = 0; term < map.unreduced_count(); ++term) {
      const Placement like = {.tile = {}, .manual = 0, .unreduced = term, .replicated = copy};
      HLO_ASSIGN_OR_RETURN(Literal part, AssembleTiles(tiles, map, shape, like));
      if (term == 0)
        value = std::move(part);
      else
        HLO_RETURN_IF_ERROR(Fold(map.reduction(), value, part));
    }
    if (copy == 0) {
      joined.value = std::move(value);
      continue;
    }
    const int64_t difference = FirstDifference(joined.value, value);
    if (difference < 0) continue;
    const Index index = IndexAt(difference, shape.dims()), tile_dims = map.TileDims(shape.dims());
    joined.disagreements.push_back(
        {HolderOf(index, map, tile_dims, 0), HolderOf(index, map, tile_dims, copy), index});
  }
  return joined;
}

}  // namespace hlo::spmd
