// Products with at most eight columns.

#include "kernels/cuda/gemm/thin_gemm_body.h"
#include "kernels/cuda/launch/launch.cuh"

namespace hlo::cuda {
using ThinAlongKF32 = ThinAlongK<float, float>;
using ThinAlongKF64 = ThinAlongK<double, double>;
using ThinAlongKF16 = ThinAlongK<HalfBits, float>;
using ThinAlongKBF16 = ThinAlongK<BFloatBits, float>;
using ThinAlongRowsF32 = ThinAlongRows<float, float>;
using ThinAlongRowsF64 = ThinAlongRows<double, double>;
using ThinAlongRowsF16 = ThinAlongRows<HalfBits, float>;
using ThinAlongRowsBF16 = ThinAlongRows<BFloatBits, float>;
}  // namespace hlo::cuda

HLO_CUDA_KERNEL(hlo::cuda::ThinAlongKF32)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongKF64)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongKF16)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongKBF16)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongRowsF32)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongRowsF64)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongRowsF16)
HLO_CUDA_KERNEL(hlo::cuda::ThinAlongRowsBF16)
