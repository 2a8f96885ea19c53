// GEMM of f32 in full single precision.

#include "kernels/cuda/gemm/f32_gemm_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::F32GemmLarge)
HLO_CUDA_KERNEL(hlo::cuda::F32GemmSmall)
HLO_CUDA_KERNEL(hlo::cuda::F32ConvolutionLarge)
HLO_CUDA_KERNEL(hlo::cuda::F32ConvolutionSmall)
