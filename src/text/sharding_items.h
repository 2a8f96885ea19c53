#pragma once
// The items of a sharding before they are combined.

#include <cstdint>
#include <vector>

namespace hlo::text {

struct ShardingItems {
  bool replicated = false, maximal = false, manual = false, unknown = false, unreduced = false;
  bool has_tiles = false;
  bool has_last_tile_dims = false;
  std::vector<int64_t> devices;  // Devices of `device=` or of an explicit list.
};

}  // namespace hlo::text
