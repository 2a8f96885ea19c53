// GEMM of f64 on tensor cores.

#include "kernels/cuda/f64_product_body.h"
#include "kernels/cuda/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::F64Product)
