#pragma once
// This file sorts lines stably by unsigned keys of at most 64 bits.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/line_chunks.h"

namespace hlo::cpu {

// Describes keys whose unsigned order equals the order of a comparison.
struct SortOrder {
  ComputeType compute_type = ComputeType::kS32;
  bool descending = false;
  // The total order of floats is -NaN < -inf < ... < -0 < +0 < ... < inf < NaN. Otherwise zeros are equal and
  // NaNs are unordered.
  bool total = true;
};

// Computes keys[i] from elements in their compute type. Returns false if an element is unordered.
bool MakeSortKeys(const SortOrder& order, int64_t n, const void* elements, uint64_t* keys);

// Reads the keys of elements from `begin` on: read(begin, n, keys), n <= kKeyBlock. It is called from several
// threads at once.
using ReadKeys = absl::FunctionRef<void(int64_t begin, int64_t n, uint64_t* keys)>;
inline constexpr int64_t kKeyBlock = 512;

struct KeyAndIndex {
  uint64_t key;
  uint32_t index;
};
// Scratch memory that is reused between lines.
struct SortScratch {
  CachedVector<std::byte> elements, others;
};
// Returns the size of the scratch memory in bytes.
int64_t SortScratchBytes(int64_t n, int key_bits);

// Returns the positions of n elements in ascending order of their keys, equal ones in their original order.
// The result is stored in `scratch`. `chunks` are those of the elements. Keys are less than 2^key_bits.
absl::Span<const uint32_t> StableOrder(int64_t n, int key_bits, ReadKeys read, const LineChunks& chunks,
                                       SortScratch& scratch);
// Returns the first `count` positions of that order.
CachedVector<uint32_t> FirstInOrder(int64_t n, int key_bits, ReadKeys read, int64_t count,
                                    SortScratch& scratch);

}  // namespace hlo::cpu
