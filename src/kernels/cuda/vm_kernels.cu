// Device instances of the VM kernels. They are in one file because they share device functions.

#include "kernels/cuda/combiner/custom_combiner_body.h"
#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/vm32_reduce_body.h"
#include "kernels/cuda/reduce/reduce_vm_body.h"
#include "kernels/cuda/reduce/rows_body.h"
#include "kernels/cuda/steps/steps_body.h"
#include "kernels/cuda/vm/vm32_body.h"
#include "kernels/cuda/vm/vm_kernels.h"

HLO_CUDA_KERNEL(hlo::cuda::TileVm4)
HLO_CUDA_KERNEL(hlo::cuda::TileVm8)
HLO_CUDA_KERNEL(hlo::cuda::TileVm16)
HLO_CUDA_KERNEL(hlo::cuda::ReduceVm4)
HLO_CUDA_KERNEL(hlo::cuda::ReduceVm8)
HLO_CUDA_KERNEL(hlo::cuda::ReduceVm16)
HLO_CUDA_KERNEL(hlo::cuda::WideVm32SumRows4)
HLO_CUDA_KERNEL(hlo::cuda::WideVm32WordRows4)
HLO_CUDA_KERNEL(hlo::cuda::WideRowsVm4)
HLO_CUDA_KERNEL(hlo::cuda::WideRowsVm8)
HLO_CUDA_KERNEL(hlo::cuda::WideVm32Kernel4)
HLO_CUDA_KERNEL(hlo::cuda::WideVm32Kernel8)
HLO_CUDA_KERNEL(hlo::cuda::StepsKernel)
HLO_CUDA_KERNEL(hlo::cuda::CustomCombiner<2>)
HLO_CUDA_KERNEL(hlo::cuda::CustomCombiner<4>)
