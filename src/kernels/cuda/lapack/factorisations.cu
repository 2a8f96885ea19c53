#include "kernels/cuda/lapack/lu_body.h"
#include "kernels/cuda/lapack/reflectors_body.h"
#include "kernels/cuda/lapack/tridiagonal_body.h"
#include "kernels/cuda/lapack/unblocked_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::LuPanel<double>)
HLO_CUDA_KERNEL(hlo::cuda::LuPanel<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SwapRows<double>)
HLO_CUDA_KERNEL(hlo::cuda::SwapRows<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::QrPanel<double>)
HLO_CUDA_KERNEL(hlo::cuda::QrPanel<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::ApplyReflectors<double>)
HLO_CUDA_KERNEL(hlo::cuda::ApplyReflectors<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SetIdentity<double>)
HLO_CUDA_KERNEL(hlo::cuda::SetIdentity<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::MakePermutation)
HLO_CUDA_KERNEL(hlo::cuda::FactorTridiagonal<double>)
HLO_CUDA_KERNEL(hlo::cuda::FactorTridiagonal<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::SolveTridiagonal<double>)
HLO_CUDA_KERNEL(hlo::cuda::SolveTridiagonal<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::FactorPivotedQr<double>)
HLO_CUDA_KERNEL(hlo::cuda::FactorPivotedQr<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::ReduceToHessenberg<double>)
HLO_CUDA_KERNEL(hlo::cuda::ReduceToHessenberg<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::ExpandHermitian<double>)
HLO_CUDA_KERNEL(hlo::cuda::ExpandHermitian<hlo::cuda::WideComplex>)
HLO_CUDA_KERNEL(hlo::cuda::StoreTridiagonalParts<double>)
HLO_CUDA_KERNEL(hlo::cuda::StoreTridiagonalParts<hlo::cuda::WideComplex>)
