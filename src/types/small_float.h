#pragma once
// The floating types that C++ lacks: f16, bf16 and the 8-, 6- and 4-bit types. One template covers all of
// them; a value is its bits plus a format. Rounding is to nearest even with the overflow rule of the format.

#include <bit>
#include <cstdint>

#include "base/host_device.h"

namespace hlo {

enum class Special : uint8_t {
  kIeee,    // The top exponent encodes infinity (mantissa 0) and NaN.
  kFn,      // No infinity; NaN is all ones, with either sign.
  kFnuz,    // No infinity and no negative zero; NaN is the code of -0.
  kFinite,  // No infinity and no NaN; overflow saturates.
  kScale,   // f8e8m0fnu: a power of two without sign and zero; NaN is all ones.
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;

  constexpr bool operator==(const FloatFormat&) const = default;
  constexpr int bits() const { return exponent_bits + mantissa_bits + (special == Special::kScale ? 0 : 1); }
  // Returns the code of the largest finite magnitude.
  constexpr uint32_t max_code() const {
    const uint32_t all = (1u << (exponent_bits + mantissa_bits)) - 1;
    switch (special) {
      case Special::kIeee:
        return all - (1u << mantissa_bits);
      case Special::kFn:
        return all - 1;
      case Special::kScale:
        return all - 1;
      default:
        return all;
    }
  }
};

inline constexpr FloatFormat kF16Format{5, 10, 15, Special::kIeee};
inline constexpr FloatFormat kBF16Format{8, 7, 127, Special::kIeee};
inline constexpr FloatFormat kF8E5M2Format{5, 2, 15, Special::kIeee};
inline constexpr FloatFormat kF8E4M3Format{4, 3, 7, Special::kIeee};
inline constexpr FloatFormat kF8E3M4Format{3, 4, 3, Special::kIeee};
inline constexpr FloatFormat kF8E4M3FNFormat{4, 3, 7, Special::kFn};
inline constexpr FloatFormat kF8E4M3B11FNUZFormat{4, 3, 11, Special::kFnuz};
inline constexpr FloatFormat kF8E4M3FNUZFormat{4, 3, 8, Special::kFnuz};
inline constexpr FloatFormat kF8E5M2FNUZFormat{5, 2, 16, Special::kFnuz};
inline constexpr FloatFormat kF8E8M0FNUFormat{8, 0, 127, Special::kScale};
inline constexpr FloatFormat kF6E3M2FNFormat{3, 2, 3, Special::kFinite};
inline constexpr FloatFormat kF6E2M3FNFormat{2, 3, 1, Special::kFinite};
inline constexpr FloatFormat kF4E2M1FNFormat{2, 1, 1, Special::kFinite};

// Returns the value of a code, which is exact in double for every format. small_float_codes.h has the
// algorithms.
double DecodeSmallFloat(const FloatFormat& format, uint32_t code);
// Rounds once from double. NaN, infinities and overflow follow the format (semantics 2).
uint32_t EncodeSmallFloat(const FloatFormat& format, double value);

// Bit-level conversions of the two most common types.
HLO_HOST_DEVICE float BF16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
HLO_HOST_DEVICE uint16_t FloatToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
HLO_HOST_DEVICE float F16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) {  // Zero or subnormal: a multiple of 2^-24.
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}
HLO_HOST_DEVICE uint16_t FloatToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above overflow.
  if (magnitude <
      0x38800000u) {  // Below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - ((127u - 15u) << 23)) >> 13));
}

template <class Bits, const FloatFormat& kFormat>
struct SmallFloat {
  Bits bits = 0;

  static constexpr const FloatFormat& format() { return kFormat; }
  static SmallFloat FromBits(Bits bits) { return {bits}; }
  // f64 is rounded to f16 and bf16 through f32 (double rounding), and to narrower types directly.
  static SmallFloat FromDouble(double value) {
    if constexpr (sizeof(Bits) == 2) return FromFloat(static_cast<float>(value));
    return {static_cast<Bits>(EncodeSmallFloat(kFormat, value))};
  }
  static SmallFloat FromFloat(float value) {
    if constexpr (kFormat == kBF16Format)
      return {FloatToBF16(value)};
    else if constexpr (kFormat == kF16Format)
      return {FloatToF16(value)};
    else
      return {static_cast<Bits>(EncodeSmallFloat(kFormat, value))};
  }
  float ToFloat() const {
    if constexpr (kFormat == kBF16Format)
      return BF16ToFloat(bits);
    else if constexpr (kFormat == kF16Format)
      return F16ToFloat(bits);
    else
      return static_cast<float>(DecodeSmallFloat(kFormat, bits));
  }
};

using float16 = SmallFloat<uint16_t, kF16Format>;
using bfloat16 = SmallFloat<uint16_t, kBF16Format>;
using float8_e5m2 = SmallFloat<uint8_t, kF8E5M2Format>;
using float8_e4m3 = SmallFloat<uint8_t, kF8E4M3Format>;
using float8_e3m4 = SmallFloat<uint8_t, kF8E3M4Format>;
using float8_e4m3fn = SmallFloat<uint8_t, kF8E4M3FNFormat>;
using float8_e4m3b11fnuz = SmallFloat<uint8_t, kF8E4M3B11FNUZFormat>;
using float8_e4m3fnuz = SmallFloat<uint8_t, kF8E4M3FNUZFormat>;
using float8_e5m2fnuz = SmallFloat<uint8_t, kF8E5M2FNUZFormat>;
using float8_e8m0fnu = SmallFloat<uint8_t, kF8E8M0FNUFormat>;
using float6_e3m2fn = SmallFloat<uint8_t, kF6E3M2FNFormat>;
using float6_e2m3fn = SmallFloat<uint8_t, kF6E2M3FNFormat>;
using float4_e2m1fn = SmallFloat<uint8_t, kF4E2M1FNFormat>;

}  // namespace hlo
