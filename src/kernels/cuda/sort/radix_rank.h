#pragma once
// Stable ranks of the keys of a thread block by one digit.

#include "kernels/cuda/intrinsics/block_scan.h"
#include "kernels/cuda/sort/radix_key.h"

namespace hlo::cuda {

// A warp ranks adjacent keys, kWarpSize at a time, and counts them by digit. A thread adds the counts of its
// digits over the warps.
template <uint32_t kThreads, int kItems>
struct RadixRank {
  static constexpr uint32_t kWarps = kThreads / kWarpSize;
  static constexpr uint32_t kDigitsEach = kThreads < kDigits ? kDigits / kThreads : 1;
  static constexpr uint32_t kDigitThreads = kDigits / kDigitsEach;
  static_assert(kDigits % kDigitsEach == 0 && kDigitThreads <= kThreads);

  struct alignas(16) Shared {
    uint32_t counts[kWarps][kDigits];  // Replaced by positions in the order of the block.
    uint32_t sums[kWarps];
  };

  // The position of the thread's item r.
  static HLO_DEVICE uint32_t Item(uint32_t thread, int r) {
    return thread / kWarpSize * (kItems * kWarpSize) + static_cast<uint32_t>(r) * kWarpSize +
           thread % kWarpSize;
  }

  // Sets the digits of the keys, times 2^16, plus their ranks among the keys of equal digit in the warp.
  template <class Env, class DigitOf>
  static HLO_DEVICE void RankInWarp(Env& env, Shared& shared, DigitOf&& digit_of, uint32_t (&ranks)[kItems]) {
    const uint32_t lane = env.thread() % kWarpSize;
    uint32_t* counts = shared.counts[env.thread() / kWarpSize];
    HLO_UNROLL
    for (uint32_t d = 0; d < kDigits; d += kWarpSize) counts[d + lane] = 0;
    env.sync_warp();
    const uint32_t lower_lanes = (1u << lane) - 1;
    HLO_UNROLL
    for (int r = 0; r < kItems; ++r) {
      const uint32_t digit = digit_of(r), same = env.match_digit(digit),
                     lower = CountBits(same & lower_lanes), before = counts[digit];
      env.sync_warp();
      if (lower == 0) counts[digit] = before + CountBits(same);
      env.sync_warp();
      ranks[r] = digit << 16 | (before + lower);
    }
  }

  // Returns the sum of the values of the threads before this one. All threads must call it.
  template <class Env>
  static HLO_DEVICE uint32_t SumBefore(Env& env, Shared& shared, uint32_t value) {
    const uint32_t lane = env.thread() % kWarpSize, warp = env.thread() / kWarpSize;
    uint32_t sum = value;
    HLO_UNROLL
    for (uint32_t d = 1; d < kWarpSize; d *= 2) {
      const uint32_t left = env.shfl_up(sum, static_cast<int>(d));
      if (lane >= d) sum += left;
    }
    if (lane == kWarpSize - 1) shared.sums[warp] = sum;
    env.sync();
    uint32_t before = sum - value;
    HLO_UNROLL
    for (uint32_t w = 0; w + 1 < kWarps; ++w) {
      if (w < warp) before += shared.sums[w];
    }
    return before;
  }

  // Replaces the counts by positions: of the first key with a digit in a warp. Calls visit(digit, count) for
  // the thread's digits, and sets their starts in the order of the block.
  template <class Env, class Visit>
  static HLO_DEVICE void ScatterDigits(Env& env, Shared& shared, uint32_t (&starts)[kDigitsEach],
                                       Visit&& visit) {
    env.sync();
    const uint32_t first = env.thread() * kDigitsEach;
    const bool has_digits = env.thread() < kDigitThreads;
    uint32_t sum = 0;
    HLO_UNROLL
    for (uint32_t j = 0; j < kDigitsEach; ++j) {
      uint32_t count = 0;
      HLO_UNROLL
      for (uint32_t w = 0; w < kWarps; ++w) {
        if (has_digits) count += shared.counts[w][first + j];
      }
      if (has_digits) visit(first + j, count);
      starts[j] = sum;
      sum += count;
    }
    const uint32_t start = SumBefore(env, shared, sum);
    HLO_UNROLL
    for (uint32_t j = 0; j < kDigitsEach; ++j) {
      starts[j] += start;
      uint32_t position = starts[j];
      HLO_UNROLL
      for (uint32_t w = 0; w < kWarps; ++w) {
        if (!has_digits) break;
        const uint32_t count = shared.counts[w][first + j];
        shared.counts[w][first + j] = position;
        position += count;
      }
    }
    env.sync();
  }

  // Returns the position of a key with this digit and rank.
  template <class Env>
  static HLO_DEVICE uint32_t Position(Env& env, const Shared& shared, uint32_t rank) {
    return shared.counts[env.thread() / kWarpSize][rank >> 16] + (rank & 0xffff);
  }
};

}  // namespace hlo::cuda
