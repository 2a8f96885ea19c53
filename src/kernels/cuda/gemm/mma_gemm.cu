// Tensor-core GEMM by warp-level mma instructions.

#include "kernels/cuda/gemm/mma_gemm_body.h"
#include "kernels/cuda/gemm/pack_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::MmaGemmKMajor)
HLO_CUDA_KERNEL(hlo::cuda::MmaGemmMnMajorA)
HLO_CUDA_KERNEL(hlo::cuda::MmaGemmMnMajorB)
HLO_CUDA_KERNEL(hlo::cuda::MmaGemmMnMajor)
HLO_CUDA_KERNEL(hlo::cuda::Pack)
