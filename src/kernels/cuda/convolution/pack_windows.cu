// Copies for convolutions of few channels or few outputs.

#include "kernels/cuda/convolution/pack_windows_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::PackPixelsHalf4)
HLO_CUDA_KERNEL(hlo::cuda::PackPixelsHalf8)
HLO_CUDA_KERNEL(hlo::cuda::PackPixelsWord4)
HLO_CUDA_KERNEL(hlo::cuda::PackPixelsWord8)
HLO_CUDA_KERNEL(hlo::cuda::PackTapsHalf)
HLO_CUDA_KERNEL(hlo::cuda::PackTapsWord)
