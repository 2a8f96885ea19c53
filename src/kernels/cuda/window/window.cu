#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/elements.cuh"
#include "kernels/cuda/window/window_body.h"

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ReduceWindowKernel)
HLO_CUDA_KERNEL_OF_INTEGERS(hlo::cuda::SelectWinners)
HLO_CUDA_KERNEL_OF_FLOATS(hlo::cuda::SelectWinners)
HLO_CUDA_KERNEL_OF_INTEGERS(hlo::cuda::ScatterWinners)
HLO_CUDA_KERNEL_OF_FLOATS(hlo::cuda::ScatterWinners)
