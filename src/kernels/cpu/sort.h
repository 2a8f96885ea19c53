#pragma once
// Stable sorts of lines by keys that are unsigned integers of 64 bits at most.

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cpu/kept_vector.h"
#include "kernels/cpu/pieces.h"
#include "kernels/cpu/tile_ops.h"

namespace hlo::cpu {

// Keys whose unsigned order is the order that a comparison asks for.
struct SortOrder {
  Lane lane = Lane::kS32;
  bool descending = false;
  // Floats: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN. Otherwise zeros are equal, and NaN has no place.
  bool total = true;
};

// keys[i] of elements in their lane. False where an element has no place in the order.
bool MakeSortKeys(const SortOrder& order, int64_t n, const void* elements, uint64_t* keys);

// order[0, n): the positions of keys[0, n), smallest key first, equal ones in the order in which they stand.
// `scratch` is for reuse between lines; `pieces` are those of the keys.
struct KeyAndPlace {
  uint64_t key;
  uint32_t place;
};
struct SortScratch {
  KeptVector<uint64_t> words, other_words;
  KeptVector<KeyAndPlace> pairs, other_pairs;
};
void StableOrder(absl::Span<uint64_t> keys, absl::Span<uint32_t> order, const Pieces& pieces,
                 SortScratch& scratch);
// The first `count` of that order; `keys` may change places.
KeptVector<uint32_t> FirstInOrder(absl::Span<uint64_t> keys, int64_t count, SortScratch& scratch);

}  // namespace hlo::cpu
