#pragma once
// Combines one number of each thread of a block, whose size is a power of two, in a tree.

#include <cmath>
#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

// All threads call this with `parts` in shared memory, a number per thread. All receive the result.
template <class Env, class Operation>
HLO_DEVICE double CombinedInBlock(Env& env, double* parts, double value, Operation&& operation) {
  env.sync();
  parts[env.thread()] = value;
  HLO_ROLLED
  for (uint32_t half = env.threads() / 2; half > 0; half /= 2) {
    env.sync();
    if (env.thread() < half) parts[env.thread()] = operation(parts[env.thread()], parts[env.thread() + half]);
  }
  env.sync();
  const double result = parts[0];
  env.sync();
  return result;
}

template <class Env>
HLO_DEVICE double SumInBlock(Env& env, double* parts, double value) {
  return CombinedInBlock(env, parts, value, [](double a, double b) { return a + b; });
}
template <class Env>
HLO_DEVICE double LargestInBlock(Env& env, double* parts, double value) {
  return CombinedInBlock(env, parts, value, [](double a, double b) { return std::fmax(a, b); });
}

// Returns the index with the largest size of all threads; the smallest one of several. `memory` is shared,
// with 12 bytes per thread.
template <class Env>
HLO_DEVICE uint32_t IndexOfLargest(Env& env, std::byte* memory, double size, uint32_t index) {
  double* sizes = reinterpret_cast<double*>(memory);
  auto* indices = reinterpret_cast<uint32_t*>(sizes + env.threads());
  const uint32_t mine = env.thread();
  sizes[mine] = size;
  indices[mine] = index;
  HLO_ROLLED
  for (uint32_t half = env.threads() / 2; half > 0; half /= 2) {
    env.sync();
    if (mine >= half) continue;
    const uint32_t other = mine + half;
    if (sizes[other] > sizes[mine] || (sizes[other] == sizes[mine] && indices[other] < indices[mine])) {
      sizes[mine] = sizes[other];
      indices[mine] = indices[other];
    }
  }
  env.sync();
  return indices[0];
}

}  // namespace hlo::cuda
