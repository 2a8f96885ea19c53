// GEMM of all element types.

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/product_body.h"
#include "kernels/cuda/search_body.h"

#define HLO_PRODUCT_KERNELS(T)                  \
  HLO_CUDA_KERNEL(hlo::cuda::TileProduct<T>)    \
  HLO_CUDA_KERNEL(hlo::cuda::ElementProduct<T>) \
  HLO_CUDA_KERNEL(hlo::cuda::SumParts<T>)

HLO_PRODUCT_KERNELS(float)
HLO_PRODUCT_KERNELS(double)
HLO_PRODUCT_KERNELS(uint32_t)
HLO_PRODUCT_KERNELS(uint64_t)
HLO_PRODUCT_KERNELS(hlo::cuda::ComplexNumber<float>)
HLO_PRODUCT_KERNELS(hlo::cuda::ComplexNumber<double>)
HLO_CUDA_KERNEL(hlo::cuda::Search)
