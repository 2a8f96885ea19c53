#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/random/random_body.h"

HLO_CUDA_KERNEL(hlo::cuda::ThreeFryKernel)
HLO_CUDA_KERNEL(hlo::cuda::PhiloxKernel)
HLO_CUDA_KERNEL(hlo::cuda::DrawKernel)
HLO_CUDA_KERNEL(hlo::cuda::AdvanceKernel)
