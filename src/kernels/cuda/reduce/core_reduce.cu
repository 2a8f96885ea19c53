// Device instances of reductions on the VM's core that need no calls. vm_kernels.cu has the others.

#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/core_reduce_body.h"

HLO_CUDA_KERNEL(hlo::cuda::CoreSumRows4)
HLO_CUDA_KERNEL(hlo::cuda::CoreSumRows8)
HLO_CUDA_KERNEL(hlo::cuda::CoreWordRows8)
HLO_CUDA_KERNEL(hlo::cuda::CoreSumJoin)
HLO_CUDA_KERNEL(hlo::cuda::CoreWordJoin)
