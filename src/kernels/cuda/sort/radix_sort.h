#pragma once
// Launches the radix sort.

#include "absl/status/status.h"
#include "device/stream.h"
#include "kernels/cuda/sort/radix_body.h"

namespace hlo::cuda {

// Double buffers of keys and values.
template <class Key>
struct RadixBuffers {
  Key *keys, *other_keys;
  uint32_t *order, *other_order;
  uint32_t* counts;  // RadixCountsBytes bytes.
};
inline int64_t RadixTiles(int64_t count) { return (count + kRadixTile - 1) / kRadixTile; }
inline int64_t RadixCountsBytes(int64_t count) { return (RadixTiles(count) + 1) * kDigits * 4; }

// Sorts stably by the lowest `bits` bits of the keys and permutes the values in `buffers.order` (element
// numbers if `is_first`). Afterwards the pointers without `other_` are the results.
template <class Key>
absl::Status RadixSort(RadixBuffers<Key>& buffers, int64_t count, uint32_t bits, bool is_first,
                       device::Stream stream);

}  // namespace hlo::cuda
