#include "kernels/cuda/lapack/spectral_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::OrthogonaliseColumns<double>)
HLO_CUDA_KERNEL(hlo::cuda::OrthogonaliseColumns<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::PrepareGeneral<double>)
HLO_CUDA_KERNEL(hlo::cuda::PrepareGeneral<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::PrepareHermitian<double>)
HLO_CUDA_KERNEL(hlo::cuda::PrepareHermitian<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::StackTriangle<double>)
HLO_CUDA_KERNEL(hlo::cuda::StackTriangle<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::MeasureColumns<double>)
HLO_CUDA_KERNEL(hlo::cuda::MeasureColumns<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::GatherColumns<double>)
HLO_CUDA_KERNEL(hlo::cuda::GatherColumns<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::InvalidateMatrices<double>)
HLO_CUDA_KERNEL(hlo::cuda::InvalidateMatrices<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::RankValues)
