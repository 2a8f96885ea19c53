#include "kernels/cuda/lapack/triangular_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::FactorBlock<double>)
HLO_CUDA_KERNEL(hlo::cuda::FactorBlock<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SolveBlock<double>)
HLO_CUDA_KERNEL(hlo::cuda::SolveBlock<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SubtractGemm<double>)
HLO_CUDA_KERNEL(hlo::cuda::SubtractGemm<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::FinishFactor<double>)
HLO_CUDA_KERNEL(hlo::cuda::FinishFactor<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::MergeFactor<double>)
HLO_CUDA_KERNEL(hlo::cuda::MergeFactor<hlo::cuda::WideComplex>)
