// Depthwise convolutions.

#include "kernels/cuda/convolution/depthwise_body.h"
#include "kernels/cuda/launch/launch.cuh"

namespace hlo::cuda {
template <class Stored>
using Depthwise3 = DepthwiseVectors<Stored, 3, 1>;
template <class Stored>
using Depthwise3By2 = DepthwiseVectors<Stored, 3, 2>;
template <class Stored>
using Depthwise5 = DepthwiseVectors<Stored, 5, 1>;
template <class Stored>
using Depthwise5By2 = DepthwiseVectors<Stored, 5, 2>;
}  // namespace hlo::cuda

#define HLO_DEPTHWISE_KERNELS(Stored)                          \
  HLO_CUDA_KERNEL(hlo::cuda::Depthwise3<hlo::cuda::Stored>)    \
  HLO_CUDA_KERNEL(hlo::cuda::Depthwise3By2<hlo::cuda::Stored>) \
  HLO_CUDA_KERNEL(hlo::cuda::Depthwise5<hlo::cuda::Stored>)    \
  HLO_CUDA_KERNEL(hlo::cuda::Depthwise5By2<hlo::cuda::Stored>)

namespace hlo::cuda {
using SingleBits = float;
}
HLO_CUDA_KERNEL(hlo::cuda::Depthwise)
HLO_DEPTHWISE_KERNELS(SingleBits)
HLO_DEPTHWISE_KERNELS(HalfBits)
HLO_DEPTHWISE_KERNELS(BFloatBits)
