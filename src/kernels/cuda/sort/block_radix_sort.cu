#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/sort/block_radix_sort_body.h"

namespace hlo::cuda {
template <class Key, uint32_t kThreads, int kItems>
using BlockKeySort = BlockRadixSort<Key, false, kThreads, kItems>;
template <class Key, uint32_t kThreads, int kItems>
using BlockPairSort = BlockRadixSort<Key, true, kThreads, kItems>;
}  // namespace hlo::cuda

#define HLO_BLOCK_RADIX_KERNELS(Threads, Items, Key)                                           \
  template int hlo::cuda::LaunchOnDevice<hlo::cuda::BlockKeySort<Key, Threads, Items>>(        \
      const hlo::cuda::LaunchShape&, const hlo::cuda::BlockRadixSortArgs<Key>&, CUstream_st*); \
  template int hlo::cuda::LaunchOnDevice<hlo::cuda::BlockPairSort<Key, Threads, Items>>(       \
      const hlo::cuda::LaunchShape&, const hlo::cuda::BlockRadixSortArgs<Key>&, CUstream_st*);

HLO_BLOCK_RADIX_SHAPES(HLO_BLOCK_RADIX_KERNELS, uint16_t)
HLO_BLOCK_RADIX_SHAPES(HLO_BLOCK_RADIX_KERNELS, uint32_t)
HLO_BLOCK_RADIX_SHAPES(HLO_BLOCK_RADIX_KERNELS, uint64_t)
