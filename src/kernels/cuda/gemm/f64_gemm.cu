// GEMM of f64 on tensor cores.

#include "kernels/cuda/gemm/f64_dense_gemm_body.h"
#include "kernels/cuda/launch/launch.cuh"

namespace hlo::cuda {
template <int kTileRows>
using F64Lines = F64DenseGemm<kTileRows, true, true>;
template <int kTileRows>
using F64LinesA = F64DenseGemm<kTileRows, true, false>;
template <int kTileRows>
using F64LinesB = F64DenseGemm<kTileRows, false, true>;
template <int kTileRows>
using F64NoLines = F64DenseGemm<kTileRows, false, false>;
}  // namespace hlo::cuda

#define HLO_F64_KERNELS(Kernel)           \
  HLO_CUDA_KERNEL(hlo::cuda::Kernel<128>) \
  HLO_CUDA_KERNEL(hlo::cuda::Kernel<64>)

HLO_CUDA_KERNEL(hlo::cuda::F64Gemm)
HLO_F64_KERNELS(F64Lines)
HLO_F64_KERNELS(F64LinesA)
HLO_F64_KERNELS(F64LinesB)
HLO_F64_KERNELS(F64NoLines)
