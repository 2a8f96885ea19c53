// GEMM of all element types.

#include "kernels/cuda/gemm/gemm_body.h"
#include "kernels/cuda/gemm/non_finite_search_body.h"
#include "kernels/cuda/launch/launch.cuh"

#define HLO_PRODUCT_KERNELS(T)               \
  HLO_CUDA_KERNEL(hlo::cuda::TileGemm<T>)    \
  HLO_CUDA_KERNEL(hlo::cuda::ElementGemm<T>) \
  HLO_CUDA_KERNEL(hlo::cuda::SumParts<T>)

HLO_PRODUCT_KERNELS(float)
HLO_PRODUCT_KERNELS(double)
HLO_PRODUCT_KERNELS(uint32_t)
HLO_PRODUCT_KERNELS(uint64_t)
HLO_PRODUCT_KERNELS(hlo::cuda::ComplexNumber<float>)
HLO_PRODUCT_KERNELS(hlo::cuda::ComplexNumber<double>)
HLO_CUDA_KERNEL(hlo::cuda::SumDenseParts)
HLO_CUDA_KERNEL(hlo::cuda::NonFiniteSearch)
