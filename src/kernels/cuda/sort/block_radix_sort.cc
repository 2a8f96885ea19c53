#include "kernels/cuda/sort/block_radix_sort.h"

#include <algorithm>
#include <bit>

#include "base/arithmetic.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/sort/radix_sort.h"
#include "kernels/cuda/sort/sort_keys.h"

namespace hlo::cuda {
namespace {

template <class Kernel, class Args>
absl::Status LaunchInBlocks(const Args& args, device::Stream stream) {
  uint32_t staged = 0;
  for (uint32_t k = 0; k < args.results.array_count; ++k) {
    const uint32_t width = args.results.arrays[k].width;
    if (width <= kWidestStaged) staged = std::max(staged, width * args.keys.lines.length);
  }
  return Launch<Kernel>({{args.keys.lines.count}, Kernel::kThreads, Kernel::SharedBytes(staged)}, args,
                        stream);
}

template <bool kHasIndices, class Key>
absl::Status SortInBlocksOfShape(const BlockRadixSortArgs<Key>& args, device::Stream stream) {
#define HLO_LAUNCH_IF_IT_FITS(Threads, Items, ...)   \
  if (args.keys.lines.length <= (Threads) * (Items)) \
    return LaunchInBlocks<BlockRadixSort<Key, kHasIndices, Threads, Items>>(args, stream);
  HLO_BLOCK_RADIX_SHAPES(HLO_LAUNCH_IF_IT_FITS, )
#undef HLO_LAUNCH_IF_IT_FITS
  return absl::InternalError("a line is too long for a thread block");
}

template <class Key>
int64_t SharedBytesBy(uint32_t length) {
  const uint32_t staged = kWidestStaged * length;
#define HLO_BYTES_IF_IT_FITS(Threads, Items, ...) \
  if (length <= (Threads) * (Items))              \
    return static_cast<int64_t>(BlockRadixSort<Key, true, Threads, Items>::SharedBytes(staged));
  HLO_BLOCK_RADIX_SHAPES(HLO_BYTES_IF_IT_FITS, )
#undef HLO_BYTES_IF_IT_FITS
  return INT64_MAX;
}

template <class Key>
absl::Status SortInBlocksBy(const SortKeysArgs& keys, uint32_t bits, const LineResults& results,
                            void* elements_out, device::Stream stream) {
  BlockRadixSortArgs<Key> args;
  args.keys = keys;
  args.results = results;
  args.of_elements = keys.source_count == 1;
  if (args.of_elements) args.code = RadixKeyOf<Key>(keys.sources[0]);
  args.elements_out = elements_out;
  args.passes = RadixPasses(bits);
  if (results.array_count > 0 || results.indices != nullptr || results.order != nullptr)
    return SortInBlocksOfShape<true>(args, stream);
  return SortInBlocksOfShape<false>(args, stream);
}

}  // namespace

int64_t BlockSortSharedBytes(uint32_t length, uint32_t bits) {
  return bits <= 16   ? SharedBytesBy<uint16_t>(length)
         : bits <= 32 ? SharedBytesBy<uint32_t>(length)
                      : SharedBytesBy<uint64_t>(length);
}

absl::Status SortByNetwork(const SortKeysArgs& keys, const LineResults& results, device::Stream stream) {
  NetworkSortArgs args;
  args.keys = keys;
  args.results = results;
  args.padded = std::max(2u, std::bit_ceil(keys.lines.length));
  args.padded_bits = static_cast<uint32_t>(std::bit_width(args.padded) - 1);
  args.block_lines = std::max(1u, 2 * kSortThreads / args.padded);
  const uint32_t blocks = CeilDiv(keys.lines.count, args.block_lines);
  return Launch<NetworkSort>({{blocks}, kSortThreads, size_t{12} * args.padded * args.block_lines}, args,
                             stream);
}

absl::Status SortInBlocks(const SortKeysArgs& keys, const LineResults& results, void* elements_out,
                          device::Stream stream) {
  uint32_t bits = 0;
  for (uint32_t k = 0; k < keys.source_count; ++k) bits += keys.sources[k].bits;
  if (bits <= 16) return SortInBlocksBy<uint16_t>(keys, bits, results, elements_out, stream);
  if (bits <= 32) return SortInBlocksBy<uint32_t>(keys, bits, results, elements_out, stream);
  return SortInBlocksBy<uint64_t>(keys, bits, results, elements_out, stream);
}

}  // namespace hlo::cuda
