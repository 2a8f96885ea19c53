#pragma once
// Stable LSD radix sort of unsigned keys with 32-bit values, 8 bits per pass: histogram per tile, prefix
// sums, and scatter. The ranks are deterministic.

#include "kernels/cuda/intrinsics/block_scan.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

constexpr uint32_t kRadixThreads = 256, kRadixItems = 16, kRadixTile = kRadixThreads * kRadixItems;
constexpr uint32_t kDigits = 256;

struct RadixArgs {
  const void* keys_in = nullptr;
  void* keys_out = nullptr;
  const uint32_t* order_in = nullptr;  // nullptr: 0, 1, 2, ...
  uint32_t* order_out = nullptr;
  uint32_t* counts = nullptr;  // [kDigits, tiles].
  uint32_t* totals = nullptr;  // [kDigits].
  uint32_t count = 0, tiles = 0, shift = 0;
};

template <class Key>
HLO_DEVICE uint32_t DigitOf(Key key, uint32_t shift) {
  return static_cast<uint32_t>(key >> shift) & (kDigits - 1);
}

template <class Key, class Env>
HLO_DEVICE void RadixCountBody(Env& env, const RadixArgs& args) {
  auto* counts = reinterpret_cast<uint32_t*>(env.shared());
  counts[env.thread()] = 0;
  env.sync();
  const uint32_t first = env.block().x * kRadixTile;
  const Key* keys = static_cast<const Key*>(args.keys_in);
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    const uint32_t i = first + r * kRadixThreads + env.thread();
    if (i < args.count) env.atomic_add(&counts[DigitOf(keys[i], args.shift)], 1);
  }
  env.sync();
  args.counts[env.thread() * args.tiles + env.block().x] = counts[env.thread()];
}

// Computes the exclusive prefix sums of the counts over the tiles, one warp per digit.
template <class Env>
HLO_DEVICE void RadixSumBody(Env& env, const RadixArgs& args) {
  const uint32_t lane = env.thread() % kWarpSize,
                 digit = env.block().x * (kRadixThreads / kWarpSize) + env.thread() / kWarpSize;
  uint32_t* counts = args.counts + digit * args.tiles;
  uint32_t before = 0;
  for (uint32_t first = 0; first < args.tiles; first += kWarpSize) {
    const uint32_t i = first + lane, count = i < args.tiles ? counts[i] : 0;
    uint32_t sum = count;
    for (uint32_t d = 1; d < kWarpSize; d *= 2) {
      const uint32_t left = env.shfl_up(sum, static_cast<int>(d));
      if (lane >= d) sum += left;
    }
    if (i < args.tiles) counts[i] = before + sum - count;
    before += env.shfl(sum, kWarpSize - 1);
  }
  if (lane == 0) args.totals[digit] = before;
}

template <class Key>
struct RadixShared {
  Key keys[kRadixTile];
  uint32_t warp_counts[kRadixThreads / kWarpSize][kDigits];
  uint32_t starts[kDigits], offsets[kDigits];  // Offsets of digits in the tile, and from there to the output.
  uint32_t scratch[kRadixThreads / kWarpSize + 1];
};

// Computes the exclusive prefix sums of the counts over the warps, and the digit offsets.
template <class Key, class Env>
HLO_DEVICE void PlaceDigits(Env& env, const RadixArgs& args, RadixShared<Key>& shared) {
  const auto add = [](uint32_t a, uint32_t b) { return a + b; };
  const uint32_t digit = env.thread();
  uint32_t sum = 0;
  for (auto& warp : shared.warp_counts) {
    const uint32_t count = warp[digit];
    warp[digit] = sum;
    sum += count;
  }
  const uint32_t start = ExclusiveScan(env, sum, 0u, shared.scratch, add);
  env.sync();
  const uint32_t before = ExclusiveScan(env, args.totals[digit], 0u, shared.scratch, add);
  shared.starts[digit] = start;
  shared.offsets[digit] = before + args.counts[digit * args.tiles + env.block().x] - start;
  env.sync();
}

template <class Key, class Env>
HLO_DEVICE void RadixScatterBody(Env& env, const RadixArgs& args) {
  auto& shared = *reinterpret_cast<RadixShared<Key>*>(env.shared());
  const uint32_t thread = env.thread(), lane = thread % kWarpSize, warp = thread / kWarpSize;
  const uint32_t tile = env.block().x * kRadixTile;
  const uint32_t count = args.count - tile < kRadixTile ? args.count - tile : kRadixTile;
  for (auto& counts : shared.warp_counts) counts[thread] = 0;
  env.sync();

  // A warp's elements are contiguous. `at` is first the rank among equal digits of the warp, then the
  // position.
  Key key[kRadixItems] = {};
  uint32_t at[kRadixItems] = {};
  const uint32_t first = warp * kRadixItems * kWarpSize + lane;
  HLO_UNROLL
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    const uint32_t i = first + r * kWarpSize;
    if (i < count) key[r] = static_cast<const Key*>(args.keys_in)[tile + i];
  }
  HLO_UNROLL
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    const bool valid = first + r * kWarpSize < count;
    const uint32_t digit = DigitOf(key[r], args.shift);
    const uint32_t same = env.match_any(valid ? digit : kDigits);
    const uint32_t before = shared.warp_counts[warp][digit], lower = CountBits(same & ((1u << lane) - 1));
    env.sync_warp();
    if (valid && lower == 0) shared.warp_counts[warp][digit] = before + CountBits(same);
    env.sync_warp();
    at[r] = before + lower;
  }
  env.sync();
  PlaceDigits(env, args, shared);

  HLO_UNROLL
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    if (first + r * kWarpSize >= count) continue;
    const uint32_t digit = DigitOf(key[r], args.shift);
    at[r] += shared.starts[digit] + shared.warp_counts[warp][digit];
    shared.keys[at[r]] = key[r];
  }
  env.sync();
  uint32_t to[kRadixItems] = {};
  HLO_UNROLL
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    const uint32_t i = r * kRadixThreads + thread;
    if (i >= count) continue;
    const Key sorted = shared.keys[i];
    to[r] = shared.offsets[DigitOf(sorted, args.shift)] + i;
    static_cast<Key*>(args.keys_out)[to[r]] = sorted;
  }
  env.sync();
  auto* order = reinterpret_cast<uint32_t*>(shared.keys);
  HLO_UNROLL
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    const uint32_t i = first + r * kWarpSize;
    if (i < count) order[at[r]] = args.order_in != nullptr ? args.order_in[tile + i] : tile + i;
  }
  env.sync();
  HLO_UNROLL
  for (uint32_t r = 0; r < kRadixItems; ++r) {
    const uint32_t i = r * kRadixThreads + thread;
    if (i < count) args.order_out[to[r]] = order[i];
  }
}

template <class Key>
struct RadixCount {
  using Args = RadixArgs;
  static constexpr uint32_t kThreads = kRadixThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    RadixCountBody<Key>(env, args);
  }
};
struct RadixSum {
  using Args = RadixArgs;
  static constexpr uint32_t kThreads = kRadixThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    RadixSumBody(env, args);
  }
};
template <class Key>
struct RadixScatter {
  using Args = RadixArgs;
  static constexpr uint32_t kThreads = kRadixThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    RadixScatterBody<Key>(env, args);
  }
};

}  // namespace hlo::cuda
