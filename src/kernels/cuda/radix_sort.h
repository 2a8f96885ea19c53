#pragma once
// The launches of a radix sort.

#include "absl/status/status.h"
#include "device/stream.h"
#include "kernels/cuda/radix_body.h"

namespace hlo::cuda {

// Keys in two places by turns, and the numbers that go with them.
template <class Key>
struct RadixBuffers {
  Key *keys, *other_keys;
  uint32_t *order, *other_order;
  uint32_t* counts;  // RadixCountsBytes.
};
inline int64_t RadixTiles(int64_t count) { return (count + kRadixTile - 1) / kRadixTile; }
inline int64_t RadixCountsBytes(int64_t count) { return (RadixTiles(count) + 1) * kDigits * 4; }

// Sorts by the lowest `bits` of the keys; equal ones stay in their order. What `buffers.order` holds goes along,
// or the places, where `is_first`. Afterwards the pointers without `other_` are the results.
template <class Key>
absl::Status RadixSort(RadixBuffers<Key>& buffers, int64_t count, uint32_t bits, bool is_first, device::Stream stream);

}  // namespace hlo::cuda
