#pragma once
// Launches the sorts of lines in thread blocks.

#include "absl/status/status.h"
#include "device/stream.h"
#include "kernels/cuda/sort/block_radix_sort_body.h"
#include "kernels/cuda/sort/network_sort_body.h"

namespace hlo::cuda {

// Sorts lines of up to kLongestNetworkLine elements.
absl::Status SortByNetwork(const SortKeysArgs& keys, const LineResults& results, device::Stream stream);

// Returns the most shared memory that SortInBlocks takes for lines of this length and keys of `bits` bits.
int64_t BlockSortSharedBytes(uint32_t length, uint32_t bits);

// Sorts lines of up to kLongestBlockLine elements by keys of up to 64 bits. If there is one source,
// `elements_out` may receive the sorted elements of its operand, and need not be in `results`.
absl::Status SortInBlocks(const SortKeysArgs& keys, const LineResults& results, void* elements_out,
                          device::Stream stream);

}  // namespace hlo::cuda
