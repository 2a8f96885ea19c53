// Products with at most eight columns.

#include "kernels/cuda/gemm/thin_gemm_body.h"
#include "kernels/cuda/launch/launch.cuh"

namespace hlo::cuda {
template <int kColumns>
using ThinAlongKF32 = ThinAlongK<float, float, kColumns>;
template <int kColumns>
using ThinAlongKF64 = ThinAlongK<double, double, kColumns>;
template <int kColumns>
using ThinAlongKF16 = ThinAlongK<HalfBits, float, kColumns>;
template <int kColumns>
using ThinAlongKBF16 = ThinAlongK<BFloatBits, float, kColumns>;
template <int kColumns>
using ThinAlongRowsF32 = ThinAlongRows<float, float, kColumns>;
template <int kColumns>
using ThinAlongRowsF64 = ThinAlongRows<double, double, kColumns>;
template <int kColumns>
using ThinAlongRowsF16 = ThinAlongRows<HalfBits, float, kColumns>;
template <int kColumns>
using ThinAlongRowsBF16 = ThinAlongRows<BFloatBits, float, kColumns>;
}  // namespace hlo::cuda

#define HLO_THIN_KERNELS(Kernel)        \
  HLO_CUDA_KERNEL(hlo::cuda::Kernel<1>) \
  HLO_CUDA_KERNEL(hlo::cuda::Kernel<2>) \
  HLO_CUDA_KERNEL(hlo::cuda::Kernel<4>) \
  HLO_CUDA_KERNEL(hlo::cuda::Kernel<8>)

HLO_THIN_KERNELS(ThinAlongKF32)
HLO_THIN_KERNELS(ThinAlongKF64)
HLO_THIN_KERNELS(ThinAlongKF16)
HLO_THIN_KERNELS(ThinAlongKBF16)
HLO_THIN_KERNELS(ThinAlongRowsF32)
HLO_THIN_KERNELS(ThinAlongRowsF64)
HLO_THIN_KERNELS(ThinAlongRowsF16)
HLO_THIN_KERNELS(ThinAlongRowsBF16)
