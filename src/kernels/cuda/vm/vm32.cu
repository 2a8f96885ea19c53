// Device instances of the 32-bit VM that need no calls. vm_kernels.cu has those with all instructions.

#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/vm/vm32_body.h"

HLO_CUDA_KERNEL(hlo::cuda::Vm32Kernel4)
HLO_CUDA_KERNEL(hlo::cuda::Vm32Kernel8)
HLO_CUDA_KERNEL(hlo::cuda::Vm32Kernel16)
