#include "kernels/cuda/convolution/depthwise_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::Depthwise)
