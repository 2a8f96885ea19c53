#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/sort/radix_body.h"

HLO_CUDA_KERNEL(hlo::cuda::RadixCount<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::RadixCount<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::RadixSum)
HLO_CUDA_KERNEL(hlo::cuda::RadixScatter<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::RadixScatter<uint64_t>)
