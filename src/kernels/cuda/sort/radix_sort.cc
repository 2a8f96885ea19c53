#include "kernels/cuda/sort/radix_sort.h"

#include <utility>

#include "base/status.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {

template <class Key>
absl::Status RadixSort(RadixBuffers<Key>& buffers, int64_t count, uint32_t bits, bool is_first,
                       device::Stream stream) {
  if (count == 0) return absl::OkStatus();
  RadixArgs args;
  args.count = static_cast<uint32_t>(count);
  args.tiles = static_cast<uint32_t>(RadixTiles(count));
  args.counts = buffers.counts;
  args.totals = buffers.counts + static_cast<int64_t>(args.tiles) * kDigits;
  const LaunchShape tiles{{args.tiles}, kRadixThreads, kDigits * 4};
  const LaunchShape sums{{kDigits * kWarpSize / kRadixThreads}, kRadixThreads};
  const LaunchShape scatter{{args.tiles}, kRadixThreads, sizeof(RadixShared<Key>)};
  for (args.shift = 0; args.shift < bits; args.shift += 8) {
    args.keys_in = buffers.keys;
    args.keys_out = buffers.other_keys;
    args.order_in = is_first && args.shift == 0 ? nullptr : buffers.order;
    args.order_out = buffers.other_order;
    HLO_RETURN_IF_ERROR(Launch<RadixCount<Key>>(tiles, args, stream));
    HLO_RETURN_IF_ERROR(Launch<RadixSum>(sums, args, stream));
    HLO_RETURN_IF_ERROR(Launch<RadixScatter<Key>>(scatter, args, stream));
    std::swap(buffers.keys, buffers.other_keys);
    std::swap(buffers.order, buffers.other_order);
  }
  return absl::OkStatus();
}

template absl::Status RadixSort<uint32_t>(RadixBuffers<uint32_t>&, int64_t, uint32_t, bool, device::Stream);
template absl::Status RadixSort<uint64_t>(RadixBuffers<uint64_t>&, int64_t, uint32_t, bool, device::Stream);

}  // namespace hlo::cuda
