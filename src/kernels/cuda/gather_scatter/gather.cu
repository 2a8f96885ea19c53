#include "kernels/cuda/gather_scatter/gather_body.h"
#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/memory/words.h"

HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint8_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint16_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<hlo::cuda::Word16>)
