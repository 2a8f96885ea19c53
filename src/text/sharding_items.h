#pragma once
// What the items of one sharding say before they are put together.

#include <cstdint>
#include <vector>

namespace hlo::text {

struct ShardingItems {
  bool replicated = false, maximal = false, manual = false, unknown = false, unreduced = false;
  bool has_tiles = false;
  bool has_last_tile_dims = false;
  std::vector<int64_t> devices;  // Of `device=` and of an explicit list.
};

}  // namespace hlo::text
