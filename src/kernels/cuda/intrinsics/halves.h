#pragma once
// Conversions between f32 and f16, rounded to nearest even, by hardware instructions.

#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/intrinsics/small_floats.h"
#include "kernels/cuda/intrinsics/tensor_core.h"
#include "types/small_float.h"

namespace hlo::cuda {

HLO_DEVICE uint16_t F16Of(float value) {
#ifdef __CUDA_ARCH__
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0,%1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return FloatToF16(value);
#endif
}
HLO_DEVICE float FloatOfF16(uint16_t bits) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0,%1;" : "=f"(value) : "h"(bits));
  return value;
#else
  return F16ToFloat(bits);
#endif
}

}  // namespace hlo::cuda
