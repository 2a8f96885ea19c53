#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/sort/radix_sweep_body.h"

namespace hlo::cuda {
template <class Key>
using SweepKeys = RadixSweep<Key, NoValue, false>;
template <class Key>
using SweepCanonicalKeys = RadixSweep<Key, NoValue, true>;
template <class Key>
using SweepPairs = RadixSweep<Key, uint32_t, false>;
template <class Key>
using SweepCanonicalPairs = RadixSweep<Key, uint32_t, true>;
}  // namespace hlo::cuda

#define HLO_RADIX_KERNELS(Key)                    \
  HLO_CUDA_KERNEL(hlo::cuda::RadixHistogram<Key>) \
  HLO_CUDA_KERNEL(hlo::cuda::SweepKeys<Key>)      \
  HLO_CUDA_KERNEL(hlo::cuda::SweepPairs<Key>)
#define HLO_CANONICAL_RADIX_KERNELS(Key)              \
  HLO_CUDA_KERNEL(hlo::cuda::SweepCanonicalKeys<Key>) \
  HLO_CUDA_KERNEL(hlo::cuda::SweepCanonicalPairs<Key>)

HLO_RADIX_KERNELS(uint8_t)
HLO_RADIX_KERNELS(uint16_t)
HLO_RADIX_KERNELS(uint32_t)
HLO_RADIX_KERNELS(uint64_t)
HLO_CANONICAL_RADIX_KERNELS(uint16_t)
HLO_CANONICAL_RADIX_KERNELS(uint32_t)
HLO_CANONICAL_RADIX_KERNELS(uint64_t)
