#pragma once
// Maps the partitions of a replica to tiles of arrays (spmd 5.3).

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "hlo_run/shape.h"
#include "types/index.h"

namespace hlo::spmd {

// The part of an array that a partition holds: a tile, and the partition's position in each kind of subgroup.
struct Placement {
  Index tile;              // The tile's index along each dimension of the array.
  int64_t manual = 0;      // Partitions with different positions hold unrelated values.
  int64_t unreduced = 0;   // Partitions with different positions hold different terms of a reduction.
  int64_t replicated = 0;  // Partitions with different positions hold copies; negative if it holds no value.

  bool operator==(const Placement&) const = default;
};

// The tiles of an array over the partitions 0, 1, ... under a sharding.
class TileMap {
 public:
  // Returns the map of an array with `rank` dimensions; `sharding` may be null for a replicated array.
  // Errors: FailedPrecondition if the sharding has another rank or does not cover the partitions;
  // Unimplemented for maximal subgroups.
  static absl::StatusOr<TileMap> Make(const Sharding* sharding, int64_t rank, int64_t partitions);

  int64_t partitions() const { return static_cast<int64_t>(places_.size()); }
  // Returns the number of tiles along each dimension.
  const Index& tile_counts() const { return tile_counts_; }
  const Placement& at(int64_t partition) const { return places_[partition]; }

  // Return the number of positions in the subgroups of a kind; 1 if there is none.
  int64_t manual_count() const { return manual_count_; }
  int64_t unreduced_count() const { return unreduced_count_; }
  int64_t replicated_count() const { return replicated_count_; }
  Sharding::Reduction reduction() const { return reduction_; }

  // True if every partition holds the whole array.
  bool IsWhole() const;

  // Returns the sizes of a tile of an array with these sizes; tiles at the end are padded to them.
  Index TileDims(absl::Span<const int64_t> dims) const;

 private:
  absl::Status AddMaximal(int64_t device, int64_t partitions);
  absl::Status AddTiled(const Sharding& sharding, int64_t rank, int64_t partitions);
  absl::Status AddNamed(const Sharding& sharding, int64_t rank, int64_t partitions);
  void CountPositions();

  Index tile_counts_;
  std::vector<Placement> places_;
  int64_t manual_count_ = 1, unreduced_count_ = 1, replicated_count_ = 1;
  Sharding::Reduction reduction_ = Sharding::Reduction::kSum;
};

// Returns the shardings of the leaves of a value in depth-first order; null for replicated leaves. A sharding
// that is not a tuple holds for each leaf. Errors: FailedPrecondition if a tuple sharding has another number
// of elements.
absl::StatusOr<std::vector<const Sharding*>> LeafShardings(const Sharding* sharding, const Shape& shape);

}  // namespace hlo::spmd
