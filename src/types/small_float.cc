#include "types/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

uint32_t EncodeScale(double value) {
  constexpr uint32_t kNanCode = 0xff;
  if (!(value > 0) || std::isinf(value)) return kNanCode;
  if (value <= 0x1p-127) return 0;
  if (value < 0x1p-126) return 1;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // In [0.5, 1).
  // Ties round up: 1.5 becomes 2.
  const int code = exponent - 1 + 127 + (mantissa >= 0.75 ? 1 : 0);
  return code > 254 ? kNanCode : static_cast<uint32_t>(code);
}

uint32_t NanCode(const FloatFormat& format, bool negative) {
  const uint32_t sign = 1u << (format.bits() - 1);
  switch (format.special) {
    case Special::kIeee: {
      const uint32_t infinity = format.max_code() + 1;
      return (negative ? sign : 0) | infinity | (1u << (format.mantissa_bits - 1));
    }
    case Special::kFn:
      return (negative ? sign : 0) | (format.max_code() + 1);
    case Special::kFnuz:
      return sign;
    // A finite format has no NaN; the result is zero with the opposite sign.
    case Special::kFinite:
      return negative ? 0 : sign;
    case Special::kScale:
      return 0xff;
  }
  return 0;
}

uint32_t OverflowCode(const FloatFormat& format, bool negative) {
  const uint32_t sign = negative ? 1u << (format.bits() - 1) : 0;
  if (format.special == Special::kIeee) return sign | (format.max_code() + 1);
  if (format.special == Special::kFinite) return sign | format.max_code();
  return NanCode(format, negative);
}

}  // namespace

double DecodeSmallFloat(const FloatFormat& format, uint32_t code) {
  if (format.special == Special::kScale)
    return code == 0xff ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
  const uint32_t sign_bit = 1u << (format.bits() - 1);
  const bool negative = (code & sign_bit) != 0;
  const uint32_t magnitude = code & (sign_bit - 1);
  if (format.special == Special::kFnuz && code == sign_bit) return -kNan;
  if (magnitude > format.max_code()) {
    if (format.special == Special::kIeee && magnitude == format.max_code() + 1)
      return negative ? -kInfinity : kInfinity;
    return negative ? -kNan : kNan;
  }
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  const uint32_t fraction = magnitude & ((1u << format.mantissa_bits) - 1);
  const uint32_t significand = exponent == 0 ? fraction : fraction | (1u << format.mantissa_bits);
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  const double value = std::ldexp(static_cast<double>(significand), scale);
  return negative ? -value : value;
}

uint32_t EncodeSmallFloat(const FloatFormat& format, double value) {
  if (format.special == Special::kScale) return EncodeScale(value);
  const bool negative = std::signbit(value);
  if (std::isnan(value)) return NanCode(format, negative);
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return OverflowCode(format, negative);
  const int min_exponent = 1 - format.bias;
  int exponent = min_exponent;
  if (magnitude > 0) exponent = std::max(std::ilogb(magnitude), min_exponent);
  // Scaling by a power of two is exact, so only nearbyint rounds.
  double significand = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  if (significand >= std::ldexp(2.0, format.mantissa_bits)) {
    significand /= 2;
    ++exponent;
  }
  const auto integer = static_cast<uint32_t>(significand);
  const uint32_t hidden = 1u << format.mantissa_bits;
  const int field = exponent - min_exponent + 1;
  uint64_t code = integer < hidden
                      ? integer
                      : (static_cast<uint64_t>(field) << format.mantissa_bits) | (integer - hidden);
  if (code > format.max_code()) return OverflowCode(format, negative);
  const bool drop_sign = format.special == Special::kFnuz && code == 0;
  if (negative && !drop_sign) code |= 1u << (format.bits() - 1);
  return static_cast<uint32_t>(code);
}

}  // namespace hlo
