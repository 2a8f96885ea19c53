// The machine for elementwise code, on the device.

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vm_kernels.h"

HLO_CUDA_KERNEL(hlo::cuda::TileVm4)
HLO_CUDA_KERNEL(hlo::cuda::TileVm8)
HLO_CUDA_KERNEL(hlo::cuda::TileVm16)
