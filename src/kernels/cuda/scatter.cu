#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/scatter_body.h"

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScatterOnce)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScatterFew)
HLO_CUDA_KERNEL(hlo::cuda::ScatterTargets)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScatterRuns)
