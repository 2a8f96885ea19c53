#include "kernels/cuda/gather_scatter/scatter_body.h"
#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/elements.cuh"

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScatterOnce)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScatterFew)
HLO_CUDA_KERNEL(hlo::cuda::ScatterTargets)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScatterRuns)
