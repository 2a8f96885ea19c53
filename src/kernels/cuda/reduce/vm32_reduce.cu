// Device instances of reductions on the 32-bit VM that need no calls. vm_kernels.cu has the others.

#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/vm32_reduce_body.h"

HLO_CUDA_KERNEL(hlo::cuda::Vm32SumRows4)
HLO_CUDA_KERNEL(hlo::cuda::Vm32SumRows8)
HLO_CUDA_KERNEL(hlo::cuda::Vm32WordRows8)
HLO_CUDA_KERNEL(hlo::cuda::Vm32SumJoin)
HLO_CUDA_KERNEL(hlo::cuda::Vm32WordJoin)
