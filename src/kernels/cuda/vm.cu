// Device instances of the VM kernels. They are in one file because they share device functions.

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vm_kernels.h"

HLO_CUDA_KERNEL(hlo::cuda::TileVm4)
HLO_CUDA_KERNEL(hlo::cuda::TileVm8)
HLO_CUDA_KERNEL(hlo::cuda::TileVm16)
HLO_CUDA_KERNEL(hlo::cuda::ReduceVm4)
HLO_CUDA_KERNEL(hlo::cuda::ReduceVm8)
HLO_CUDA_KERNEL(hlo::cuda::ReduceVm16)
HLO_CUDA_KERNEL(hlo::cuda::Coded<2>)
HLO_CUDA_KERNEL(hlo::cuda::Coded<4>)
