// GEMM of f32 in full single precision.

#include "kernels/cuda/f32_product_body.h"
#include "kernels/cuda/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::F32ProductLarge)
HLO_CUDA_KERNEL(hlo::cuda::F32ProductSmall)
HLO_CUDA_KERNEL(hlo::cuda::F32ConvolutionLarge)
HLO_CUDA_KERNEL(hlo::cuda::F32ConvolutionSmall)
