#pragma once
// The values of a run that kernels read and update in device memory.

#include <cstdint>

namespace hlo::cuda {

struct RunState {
  uint64_t seed, low, high;  // The seed of random numbers and their 128-bit counter.
  uint32_t replica = 0, partition = 0;
};

}  // namespace hlo::cuda
