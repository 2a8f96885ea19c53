#pragma once
// This file encodes small floats from f32 with integer operations only, which vectorise. Results equal those
// of FromFloat.

#include <bit>
#include <cstdint>

#include "types/small_float.h"

namespace hlo::cpu {

// Rounds an f32 to bf16 and returns it as f32.
[[gnu::always_inline]] inline float RoundToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  const uint32_t nan = (bits & 0x80000000u) | 0x7fc00000u;
  return std::bit_cast<float>(value == value ? rounded : nan);
}

// Encodes formats with a sign whose exponent and mantissa are narrower than those of f32.
template <const FloatFormat& kFormat>
[[gnu::always_inline]] inline uint32_t EncodeFloat(float value) {
  static_assert(kFormat.special != Special::kScale && kFormat.exponent_bits < 8);
  constexpr uint32_t kDropped = 23 - kFormat.mantissa_bits;
  constexpr uint32_t kSign = 1u << (kFormat.bits() - 1), kMax = kFormat.max_code();
  constexpr uint32_t kLeastNormal = static_cast<uint32_t>(128 - kFormat.bias) << 23;
  constexpr uint32_t kBiases = static_cast<uint32_t>(127 - kFormat.bias) << kFormat.mantissa_bits;
  // Adding this number rounds a subnormal to a multiple of the least one, in the low bits of the sum.
  constexpr uint32_t kMagic = static_cast<uint32_t>(151 - kFormat.bias - kFormat.mantissa_bits) << 23;

  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t sign = bits >> 31 != 0 ? kSign : 0;
  const uint32_t even = magnitude + ((1u << (kDropped - 1)) - 1) + ((magnitude >> kDropped) & 1u);
  const uint32_t normal = (even >> kDropped) - kBiases;
  const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - kMagic;
  const uint32_t code = magnitude < kLeastNormal ? subnormal : normal;
  if constexpr (kFormat.special == Special::kIeee) {
    const uint32_t finite = code > kMax ? kMax + 1 : code;
    return sign | (magnitude > 0x7f800000u ? kMax + 1 + (1u << (kFormat.mantissa_bits - 1)) : finite);
  } else if constexpr (kFormat.special == Special::kFn) {
    return sign | (code > kMax ? kMax + 1 : code);
  } else if constexpr (kFormat.special == Special::kFnuz) {
    return code > kMax ? kSign : code == 0 ? 0 : sign | code;
  } else {
    return magnitude > 0x7f800000u ? sign ^ kSign : sign | (code > kMax ? kMax : code);
  }
}

}  // namespace hlo::cpu
