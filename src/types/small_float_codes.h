#pragma once
// Decodes and encodes the floating types that C++ lacks, in integer arithmetic on the bits of a double. The
// double is exact, so values are rounded once.

#include <bit>
#include <cstdint>

#include "types/small_float.h"

namespace hlo {

HLO_HOST_DEVICE double DecodeSmall(const FloatFormat& format, uint32_t code) {
  constexpr uint64_t kInfinity = uint64_t{0x7ff} << 52, kNan = kInfinity | uint64_t{1} << 51;
  if (format.special == Special::kScale)
    return std::bit_cast<double>(code == 0xff ? kNan : uint64_t{code + 1023 - 127} << 52);
  const uint32_t sign_bit = 1u << (format.bits() - 1);
  const uint32_t magnitude = code & (sign_bit - 1);
  const uint64_t sign = (code & sign_bit) != 0 ? uint64_t{1} << 63 : 0;
  if (format.special == Special::kFnuz && code == sign_bit) return std::bit_cast<double>(sign | kNan);
  if (magnitude > format.max_code()) {
    const uint32_t payload = magnitude - format.max_code() - 1;
    if (format.special != Special::kIeee) return std::bit_cast<double>(sign | kNan);
    // Quiet NaNs keep their payload below the quiet bit, so that their total order is that of the codes.
    if (payload == 0) return std::bit_cast<double>(sign | kInfinity);
    return std::bit_cast<double>(sign | kNan | uint64_t{payload} << (51 - format.mantissa_bits));
  }
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  if (exponent == 0) {
    const int unit = 1 - format.bias - format.mantissa_bits;
    const double value =
        static_cast<double>(magnitude) *
        std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(unit + 1023)) << 52);
    return sign != 0 ? -value : value;
  }
  const uint64_t wide_exponent = exponent + 1023 - static_cast<uint32_t>(format.bias);
  const uint64_t fraction = magnitude & ((1u << format.mantissa_bits) - 1);
  return std::bit_cast<double>(sign | wide_exponent << 52 | fraction << (52 - format.mantissa_bits));
}

HLO_HOST_DEVICE uint32_t NanCode(const FloatFormat& format, bool negative) {
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
HLO_HOST_DEVICE uint64_t ShiftRounded(uint64_t bits, int shift) {
  if (shift > 60) return 0;
  if (shift <= 0) return bits << -shift;
  const uint64_t half = uint64_t{1} << (shift - 1), rest = bits & (2 * half - 1);
  const uint64_t quotient = bits >> shift;
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0) ? 1 : 0);
}

HLO_HOST_DEVICE uint32_t EncodeScale(uint64_t bits) {
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
HLO_HOST_DEVICE uint32_t EncodeSmall(const FloatFormat& format, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  if (format.special == Special::kScale) return EncodeScale(bits);
  const bool negative = bits >> 63 != 0;
  const uint32_t sign = negative ? 1u << (format.bits() - 1) : 0;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 1024 && fraction != 0) return NanCode(format, negative);
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
    return format.special == Special::kFinite ? sign | format.max_code() : NanCode(format, negative);
  }
  if (format.special == Special::kFnuz && code == 0) return 0;
  return sign | static_cast<uint32_t>(code);
}

}  // namespace hlo
