#include "kernels/cuda/depthwise_body.h"
#include "kernels/cuda/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::Depthwise)
