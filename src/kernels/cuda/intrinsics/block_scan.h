#pragma once
// Prefix scans over the threads of a thread block, in thread order.

#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

HLO_DEVICE uint32_t CountBits(uint32_t v) {
#ifdef __CUDA_ARCH__
  return static_cast<uint32_t>(__popc(v));
#else
  return static_cast<uint32_t>(__builtin_popcount(v));
#endif
}

// Returns the exclusive scan of `value` over the thread block; the first thread gets `first`. `combine` must
// be associative. `scratch` (shared memory) has an element per warp plus one, which receives the total. The
// caller synchronises the block before it reuses `scratch`.
template <class T, class Env, class Combine>
HLO_DEVICE T ExclusiveScan(Env& env, T value, T first, T* scratch, Combine&& combine) {
  const uint32_t lane = env.thread() % kWarpSize, warp = env.thread() / kWarpSize,
                 warps = env.threads() / kWarpSize;
  T sum = value;
  for (uint32_t d = 1; d < kWarpSize; d *= 2) {
    const T before = env.shfl_up(sum, static_cast<int>(d));
    if (lane >= d) sum = combine(before, sum);
  }
  if (lane == kWarpSize - 1) scratch[warp] = sum;
  const T before = env.shfl_up(sum, 1);
  env.sync();
  if (env.thread() == 0) {
    T all = first;
    for (uint32_t w = 0; w < warps; ++w) {
      const T next = combine(all, scratch[w]);
      scratch[w] = all;
      all = next;
    }
    scratch[warps] = all;
  }
  env.sync();
  return lane == 0 ? scratch[warp] : combine(scratch[warp], before);
}

}  // namespace hlo::cuda
