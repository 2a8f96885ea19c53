// Device instances of row programs that need no calls. vm_kernels.cu has the others.

#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/rows_body.h"

HLO_CUDA_KERNEL(hlo::cuda::RowsVm4)
HLO_CUDA_KERNEL(hlo::cuda::RowsVm8)
