// Tensor-core GEMM by warp-level mma instructions.

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma_product_body.h"
#include "kernels/cuda/pack_body.h"

HLO_CUDA_KERNEL(hlo::cuda::MmaProductStraight)
HLO_CUDA_KERNEL(hlo::cuda::MmaProductTurnedA)
HLO_CUDA_KERNEL(hlo::cuda::MmaProductTurnedB)
HLO_CUDA_KERNEL(hlo::cuda::MmaProductTurned)
HLO_CUDA_KERNEL(hlo::cuda::Pack)
