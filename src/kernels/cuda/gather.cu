#include "kernels/cuda/gather_body.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/words.h"

HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint8_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint16_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::GatherKernel<hlo::cuda::Word16>)
