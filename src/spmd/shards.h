#pragma once
// Splits arrays into the tiles of the partitions, and joins tiles to arrays (spmd 5.3, 5.4).

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "spmd/sharding.h"

namespace hlo::spmd {

// The part of an array that a tile holds. It is the low end of the tile.
struct TileExtent {
  Index offset, size;
};
// Returns the part of an array of sizes `dims` that the tile at position `tile` holds.
TileExtent ExtentOf(const Index& tile, absl::Span<const int64_t> dims, const Index& tile_dims);
// True if two partitions have the same positions in the subgroups.
bool HaveEqualSubgroups(const Placement& a, const Placement& b);

// Returns the tile of an array that a partition holds. It shares the array's elements if it is the whole
// array; elements beyond the end of the array are zero.
absl::StatusOr<Literal> TileOf(const Literal& array, const TileMap& map, int64_t partition);

// Returns the array of `shape` that consists of the tiles of all partitions with the same positions in the
// subgroups as `like`. There is one tile for each partition. Returns FailedPrecondition if a tile has another
// shape than the map gives it.
absl::StatusOr<Literal> AssembleTiles(absl::Span<const Literal> tiles, const TileMap& map, const Shape& shape,
                                      const Placement& like);

// Two partitions that hold different values where they should hold copies.
struct Disagreement {
  int64_t partition = 0, other = 0;
  Index index;  // The first differing element's index in the joined array.
};
struct JoinedArray {
  Literal value;
  std::vector<Disagreement> disagreements;  // At most one for each position in the replicated subgroups.
};
// Returns the array of `shape` that the partitions hold together. Copies are taken from the first of their
// subgroup and compared bit by bit. Terms of a reduction are folded in the order of their positions.
// Returns FailedPrecondition for manual values, which are unrelated arrays.
absl::StatusOr<JoinedArray> JoinTiles(absl::Span<const Literal> tiles, const TileMap& map,
                                      const Shape& shape);

}  // namespace hlo::spmd
