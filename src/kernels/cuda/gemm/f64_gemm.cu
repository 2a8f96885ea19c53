// GEMM of f64 on tensor cores.

#include "kernels/cuda/gemm/f64_gemm_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::F64Gemm)
