#pragma once
// Stable sorts of lines by keys that are unsigned integers of 64 bits at most.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/pieces.h"

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

// keys[0, n) of the elements from `begin` on: read(begin, n, keys), n <= kKeyBlock, by several threads at
// once.
using ReadKeys = absl::FunctionRef<void(int64_t begin, int64_t n, uint64_t* keys)>;
inline constexpr int64_t kKeyBlock = 512;

struct KeyAndPlace {
  uint64_t key;
  uint32_t place;
};
// For reuse between lines.
struct SortScratch {
  KeptVector<std::byte> elements, others;
};
// What it holds for so many elements with keys of so many bits, in bytes.
int64_t SortScratchBytes(int64_t n, int key_bits);

// The positions of n elements, smallest key first, equal ones in the order in which they stand; they lie in
// `scratch`. `pieces` are those of the elements. Keys lie below 2^key_bits.
absl::Span<const uint32_t> StableOrder(int64_t n, int key_bits, ReadKeys read, const Pieces& pieces,
                                       SortScratch& scratch);
// The first `count` of that order.
KeptVector<uint32_t> FirstInOrder(int64_t n, int key_bits, ReadKeys read, int64_t count,
                                  SortScratch& scratch);

}  // namespace hlo::cpu
