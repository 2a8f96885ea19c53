#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/window_body.h"

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ReduceWindowKernel)
HLO_CUDA_KERNEL_OF_INTEGERS(hlo::cuda::SelectWinners)
HLO_CUDA_KERNEL_OF_FLOATS(hlo::cuda::SelectWinners)
HLO_CUDA_KERNEL_OF_INTEGERS(hlo::cuda::ScatterWinners)
HLO_CUDA_KERNEL_OF_FLOATS(hlo::cuda::ScatterWinners)
