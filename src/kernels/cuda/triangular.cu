#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/triangular_body.h"

HLO_CUDA_KERNEL(hlo::cuda::FactorBlock<double>)
HLO_CUDA_KERNEL(hlo::cuda::FactorBlock<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SolveBlock<double>)
HLO_CUDA_KERNEL(hlo::cuda::SolveBlock<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SubtractProduct<double>)
HLO_CUDA_KERNEL(hlo::cuda::SubtractProduct<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::FinishFactor<double>)
HLO_CUDA_KERNEL(hlo::cuda::FinishFactor<hlo::cuda::WideComplex>)
