#include "kernels/cuda/sort/radix_sort.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {
namespace {

constexpr uint32_t kMostHistogramBlocks = 1056;
constexpr int64_t kSmallestTile = RadixSweep<uint64_t, NoValue, true>::kTile;
static_assert(kSmallestTile <= RadixSweep<uint16_t, NoValue, true>::kTile &&
              kSmallestTile <= RadixSweep<uint32_t, NoValue, true>::kTile &&
              kSmallestTile <= RadixSweep<uint64_t, uint32_t, true>::kTile);

uint32_t TilesOf(uint32_t length, int64_t tile) { return static_cast<uint32_t>(CeilDiv(length, tile)); }

// Parts of the workspace: counters, histograms and the statuses of the first sweep are zeros at first.
struct RadixWorkspace {
  int64_t histograms, counters, statuses, zeroed_bytes, bytes;
  RadixWorkspace(const SortLines& lines, uint32_t bits, int64_t tiles) {
    counters = 0;
    histograms = device::Aligned(RadixPasses(bits) * 4);
    statuses = histograms + int64_t{lines.count} * RadixPasses(bits) * kDigits * 4;
    const int64_t status_bytes = lines.count * tiles * kDigits * 4;
    zeroed_bytes = statuses + status_bytes;
    bytes = zeroed_bytes + status_bytes;
  }
};

template <class Key, class Value, bool kCanonical>
absl::Status SweepDigits(const RadixSortArrays<Key>& arrays, RadixSweepArgs<Key> args,
                         device::Stream stream) {
  using Kernel = RadixSweep<Key, Value, kCanonical>;
  args.tiles = TilesOf(args.lines.length, Kernel::kTile);
  args.tiles_divisor = FastDiv(args.tiles);
  const LaunchShape shape{{args.lines.count * args.tiles}, Kernel::kThreads, sizeof(typename Kernel::Shared)};
  for (args.pass = 0; args.pass < args.passes; ++args.pass) {
    const uint32_t to = (args.passes - 1 - args.pass) % 2;
    const bool is_last = args.pass + 1 == args.passes;
    args.keys_out = is_last && !arrays.keeps_keys ? nullptr : static_cast<Key*>(arrays.keys_out[to]);
    args.values_out = arrays.values_out[to];
    args.encodes = arrays.of_elements && args.pass == 0;
    args.decodes = arrays.of_elements && is_last;
    HLO_RETURN_IF_ERROR(Launch<Kernel>(shape, args, stream));
    args.keys_in = args.keys_out;
    args.values_in = args.values_out;
    std::swap(args.statuses, args.next_statuses);
  }
  return absl::OkStatus();
}

template <class Key, class Value>
absl::Status SweepDigits(const RadixSortArrays<Key>& arrays, const RadixSweepArgs<Key>& args,
                         device::Stream stream) {
  if constexpr (sizeof(Key) > 1) {
    if (arrays.is_canonical) return SweepDigits<Key, Value, true>(arrays, args, stream);
  }
  return SweepDigits<Key, Value, false>(arrays, args, stream);
}

}  // namespace

int64_t RadixSortBytes(const SortLines& lines, uint32_t bits) {
  return RadixWorkspace(lines, bits, TilesOf(lines.length, kSmallestTile)).bytes;
}

template <class Key>
absl::Status RadixSort(const RadixSortArrays<Key>& arrays, void* workspace, device::Stream stream) {
  if (arrays.lines.count == 0 || arrays.lines.length == 0) return absl::OkStatus();
  const RadixWorkspace parts(arrays.lines, arrays.bits, TilesOf(arrays.lines.length, kSmallestTile));
  auto* const memory = static_cast<std::byte*>(workspace);
  HLO_RETURN_IF_ERROR(device::FillOnDevice(memory, 0, parts.zeroed_bytes, stream));
  RadixSweepArgs<Key> args;
  args.lines = arrays.lines;
  args.code = arrays.code;
  args.keys_in = static_cast<const Key*>(arrays.keys_in);
  args.values_in = arrays.values_in;
  args.next_tile = reinterpret_cast<uint32_t*>(memory + parts.counters);
  args.histograms = reinterpret_cast<uint32_t*>(memory + parts.histograms);
  args.statuses = reinterpret_cast<uint32_t*>(memory + parts.statuses);
  args.next_statuses = reinterpret_cast<uint32_t*>(memory + parts.zeroed_bytes);
  args.unordered = arrays.unordered;
  args.passes = RadixPasses(arrays.bits);
  args.encodes = arrays.of_elements;
  using Histogram = RadixHistogram<Key>;
  args.tiles = std::min(TilesOf(args.lines.length, Histogram::kTile),
                        std::max(1u, kMostHistogramBlocks / args.lines.count));
  args.tiles_divisor = FastDiv(args.tiles);
  const LaunchShape shape{{args.lines.count * args.tiles}, Histogram::kThreads, Histogram::kSharedBytes};
  HLO_RETURN_IF_ERROR(Launch<Histogram>(shape, args, stream));
  if (arrays.values_out[0] != nullptr) return SweepDigits<Key, uint32_t>(arrays, args, stream);
  return SweepDigits<Key, NoValue>(arrays, args, stream);
}

template absl::Status RadixSort<uint8_t>(const RadixSortArrays<uint8_t>&, void*, device::Stream);
template absl::Status RadixSort<uint16_t>(const RadixSortArrays<uint16_t>&, void*, device::Stream);
template absl::Status RadixSort<uint32_t>(const RadixSortArrays<uint32_t>&, void*, device::Stream);
template absl::Status RadixSort<uint64_t>(const RadixSortArrays<uint64_t>&, void*, device::Stream);

}  // namespace hlo::cuda
