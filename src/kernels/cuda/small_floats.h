#pragma once
// Device conversions of the floating-point types that C++ lacks: types/small_float.h in integer arithmetic.
// The intermediate double is exact, so values are rounded once.

#include <bit>
#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cuda/portable.h"
#include "types/small_float.h"

namespace hlo::cuda {

HLO_DEVICE double DoubleOfBits(uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
HLO_DEVICE uint64_t BitsOfDouble(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Returns the format of a type of 16 bits or fewer.
HLO_DEVICE FloatFormat FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kF4E2M1FN:
      return kF4E2M1FNFormat;
    case ElementType::kF6E2M3FN:
      return kF6E2M3FNFormat;
    case ElementType::kF6E3M2FN:
      return kF6E3M2FNFormat;
    case ElementType::kF8E3M4:
      return kF8E3M4Format;
    case ElementType::kF8E4M3:
      return kF8E4M3Format;
    case ElementType::kF8E4M3FN:
      return kF8E4M3FNFormat;
    case ElementType::kF8E4M3FNUZ:
      return kF8E4M3FNUZFormat;
    case ElementType::kF8E4M3B11FNUZ:
      return kF8E4M3B11FNUZFormat;
    case ElementType::kF8E5M2:
      return kF8E5M2Format;
    case ElementType::kF8E5M2FNUZ:
      return kF8E5M2FNUZFormat;
    case ElementType::kF8E8M0FNU:
      return kF8E8M0FNUFormat;
    case ElementType::kBF16:
      return kBF16Format;
    default:
      return kF16Format;
  }
}

HLO_DEVICE double DecodeSmall(const FloatFormat& format, uint32_t code) {
  constexpr uint64_t kInfinity = uint64_t{0x7ff} << 52, kNan = kInfinity | uint64_t{1} << 51;
  if (format.special == Special::kScale)
    return DoubleOfBits(code == 0xff ? kNan : uint64_t{code + 1023 - 127} << 52);
  const uint32_t sign_bit = 1u << (format.bits() - 1);
  const uint32_t magnitude = code & (sign_bit - 1);
  const uint64_t sign = (code & sign_bit) != 0 ? uint64_t{1} << 63 : 0;
  if (format.special == Special::kFnuz && code == sign_bit) return DoubleOfBits(sign | kNan);
  if (magnitude > format.max_code()) {
    const bool is_infinity = format.special == Special::kIeee && magnitude == format.max_code() + 1;
    return DoubleOfBits(sign | (is_infinity ? kInfinity : kNan));
  }
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  if (exponent == 0) {
    const int unit = 1 - format.bias - format.mantissa_bits;
    const double value = static_cast<double>(magnitude) *
                         DoubleOfBits(static_cast<uint64_t>(static_cast<int64_t>(unit + 1023)) << 52);
    return sign != 0 ? -value : value;
  }
  const uint64_t wide_exponent = exponent + 1023 - static_cast<uint32_t>(format.bias);
  const uint64_t fraction = magnitude & ((1u << format.mantissa_bits) - 1);
  return DoubleOfBits(sign | wide_exponent << 52 | fraction << (52 - format.mantissa_bits));
}

HLO_DEVICE uint32_t SmallNan(const FloatFormat& format, bool negative) {
  const uint32_t sign = 1u << (format.bits() - 1);
  switch (format.special) {
    case Special::kIeee:
      return (negative ? sign : 0) | (format.max_code() + 1) | (1u << (format.mantissa_bits - 1));
    case Special::kFn:
      return (negative ? sign : 0) | (format.max_code() + 1);
    case Special::kFnuz:
      return sign;
    case Special::kFinite:  // The format has no NaN: zero with the opposite sign.
      return negative ? 0 : sign;
    default:
      return 0xff;
  }
}

// Returns bits >> shift, rounded to nearest even.
HLO_DEVICE uint64_t ShiftRounded(uint64_t bits, int shift) {
  if (shift > 60) return 0;
  if (shift <= 0) return bits << -shift;
  const uint64_t half = uint64_t{1} << (shift - 1), rest = bits & (2 * half - 1);
  const uint64_t quotient = bits >> shift;
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0) ? 1 : 0);
}

HLO_DEVICE uint32_t EncodeSmallScale(uint64_t bits) {
  constexpr uint32_t kNanCode = 0xff;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (bits >> 63 != 0 || bits == 0 || exponent == 1024) return kNanCode;
  if (exponent < -127 || (exponent == -127 && fraction == 0)) return 0;
  if (exponent == -127) return 1;
  // A mantissa of 1.5 or more rounds up.
  const int code = exponent + 127 + (fraction >> 51 != 0 ? 1 : 0);
  return code > 254 ? kNanCode : static_cast<uint32_t>(code);
}

// Rounds once to nearest even. NaN, infinities and overflow follow the format.
HLO_DEVICE uint32_t EncodeSmall(const FloatFormat& format, double value) {
  const uint64_t bits = BitsOfDouble(value);
  if (format.special == Special::kScale) return EncodeSmallScale(bits);
  const bool negative = bits >> 63 != 0;
  const uint32_t sign = negative ? 1u << (format.bits() - 1) : 0;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 1024 && fraction != 0) return SmallNan(format, negative);
  uint64_t code = 0;
  const int least = 1 - format.bias;
  if (exponent == 1024) {
    code = ~uint64_t{0};
  } else if (exponent > -1023) {
    const int at = exponent > least ? exponent : least;
    code = ShiftRounded(fraction | uint64_t{1} << 52, 52 - format.mantissa_bits + at - exponent) +
           (static_cast<uint64_t>(at - least) << format.mantissa_bits);
  }
  if (code > format.max_code()) {
    if (format.special == Special::kIeee) return sign | (format.max_code() + 1);
    return format.special == Special::kFinite ? sign | format.max_code() : SmallNan(format, negative);
  }
  if (format.special == Special::kFnuz && code == 0) return 0;
  return sign | static_cast<uint32_t>(code);
}

// Conversions of f16 and bf16 to f32 and back.
HLO_DEVICE float BF16ToF32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
HLO_DEVICE uint16_t F32ToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

HLO_DEVICE float F16ToF32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) {  // Zero or subnormal: a multiple of 2^-24.
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}
HLO_DEVICE uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above.
  // Below 2^-14: the addition rounds to a multiple of 2^-24, which its low bits contain.
  if (magnitude < 0x38800000u) {
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - ((127u - 15u) << 23)) >> 13));
}

}  // namespace hlo::cuda
