#pragma once
// f32 as bf16 and f16, rounded to nearest even, and back.

#include "kernels/cuda/portable.h"
#include "kernels/cuda/tensor_core.h"
#include "types/small_float.h"

namespace hlo::cuda {

HLO_DEVICE uint16_t BF16Of(float value) {
  const uint32_t bits = BitsOfFloat(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
HLO_DEVICE uint16_t F16Of(float value) {
#ifdef __CUDA_ARCH__
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0,%1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return FloatToF16(value);
#endif
}
HLO_DEVICE float FloatOfBF16(uint16_t bits) { return FloatOfBits(static_cast<uint32_t>(bits) << 16); }
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
