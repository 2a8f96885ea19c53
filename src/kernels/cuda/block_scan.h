#pragma once
// Sums over the threads of a block, in the order of the threads.

#include <cstdint>

#include "kernels/cuda/portable.h"

namespace hlo::cuda {

HLO_DEVICE uint32_t CountBits(uint32_t v) {
#ifdef __CUDA_ARCH__
  return static_cast<uint32_t>(__popc(v));
#else
  return static_cast<uint32_t>(__builtin_popcount(v));
#endif
}

// The combination of all threads' values before this one's, in `first` for the first; `combine` is associative.
// `scratch` has a place for each warp and one more, where the combination of all is found afterwards; threads
// meet before it is used again.
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
