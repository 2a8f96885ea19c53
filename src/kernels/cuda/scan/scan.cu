#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/elements.cuh"
#include "kernels/cuda/scan/scan_body.h"

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScanChunk)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScanColumn)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScanPartials)
