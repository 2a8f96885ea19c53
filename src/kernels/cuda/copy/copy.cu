#include "kernels/cuda/copy/copy_body.h"
#include "kernels/cuda/copy/moves_body.h"
#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/memory/words.h"

HLO_CUDA_KERNEL(hlo::cuda::CopyKernel<uint8_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyKernel<uint16_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyKernel<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyKernel<hlo::cuda::Word16>)
HLO_CUDA_KERNEL(hlo::cuda::RepackKernel)
HLO_CUDA_KERNEL(hlo::cuda::CopyTilesKernel<uint8_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyTilesKernel<uint16_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyTilesKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyTilesKernel<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::CopyTilesKernel<hlo::cuda::Word16>)
HLO_CUDA_KERNEL(hlo::cuda::MovesKernel)
