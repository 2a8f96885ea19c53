// Device instances of the core of the VM without calls. vm.cu has those with all instructions.

#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/vm/core_vm_body.h"

HLO_CUDA_KERNEL(hlo::cuda::CoreVm4)
HLO_CUDA_KERNEL(hlo::cuda::CoreVm8)
HLO_CUDA_KERNEL(hlo::cuda::CoreVm16)
