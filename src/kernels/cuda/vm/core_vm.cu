// Device instances of the VM's core that need no calls. vm_kernels.cu has those with all instructions.

#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/vm/core_vm_body.h"

HLO_CUDA_KERNEL(hlo::cuda::CoreVm4)
HLO_CUDA_KERNEL(hlo::cuda::CoreVm8)
HLO_CUDA_KERNEL(hlo::cuda::CoreVm16)
