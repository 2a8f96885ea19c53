#pragma once
// Launches the radix sort.

#include "absl/status/status.h"
#include "base/arithmetic.h"
#include "device/stream.h"
#include "kernels/cuda/sort/radix_sweep_body.h"

namespace hlo::cuda {

inline uint32_t RadixPasses(uint32_t bits) { return CeilDiv(bits, kRadixBits); }

// A stable sort of lines by the lowest `bits` bits of their keys. The last pass writes keys_out[0] and
// values_out[0], and the pass before it keys_out[1] and values_out[1]; the input may be the array that the
// first pass does not write.
template <class Key>
struct RadixSortArrays {
  SortLines lines;  // Keys and values are dense in their order.
  RadixKey<Key> code;
  uint32_t bits = 8 * sizeof(Key);
  bool is_canonical = false;  // Some elements have the digits of another key.
  bool of_elements = false;   // Keys are encoded from elements and decoded to them.
  const void* keys_in = nullptr;
  void* keys_out[2] = {};
  bool keeps_keys = true;  // The last pass stores the keys.
  // Values have 32 bits and are sorted if values_out is not null.
  const uint32_t* values_in = nullptr;  // nullptr: element numbers.
  uint32_t* values_out[2] = {};
  uint32_t* unordered = nullptr;  // Set to 1 if a key is unordered; may be nullptr.
};

// Returns the bytes of workspace for lines of keys of `bits` bits.
int64_t RadixSortBytes(const SortLines& lines, uint32_t bits);

template <class Key>
absl::Status RadixSort(const RadixSortArrays<Key>& arrays, void* workspace, device::Stream stream);

}  // namespace hlo::cuda
