#pragma once
// The instructions of vm.h for one element: types/scalar_ops.h in code that also compiles for the device.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/small_floats.h"
#include "kernels/cuda/vm.h"
#include "kernels/cuda/vm_complex.h"

namespace hlo::cuda {

// A value of any type, in 32-bit words.
template <int kWords>
struct alignas(4 * kWords) VmValue {
  uint32_t words[kWords];

  template <class T>
  HLO_DEVICE T As() const {
    static_assert(sizeof(T) <= sizeof(VmValue));
    T value;
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
  }
  template <class T>
  static HLO_DEVICE VmValue Of(T value) {
    static_assert(sizeof(T) <= sizeof(VmValue));
    VmValue result = {};
    __builtin_memcpy(result.words, &value, sizeof(T));
    return result;
  }
};

// The operation and its parameter.
struct VmExtra {
  VmOp op;
  uint16_t parameter;
};

// --- Integers.
HLO_DEVICE int VmPopcount(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __popcll(x);
#else
  return __builtin_popcountll(x);
#endif
}
HLO_DEVICE int VmLeadingZeros(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(x));
#else
  return x == 0 ? 64 : __builtin_clzll(x);
#endif
}
HLO_DEVICE uint64_t VmLowBits(uint64_t x, int bits) {
  return bits >= 64 ? x : x & ((uint64_t{1} << bits) - 1);
}
HLO_DEVICE int64_t VmSignedBits(uint64_t x, int bits) {
  return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits);
}

template <class T>
HLO_DEVICE T VmPower(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0)
      return base == 1 ? T{1} : base == -1 ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T{0};
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, square *= square) {
    if ((rest & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

template <class T>
HLO_DEVICE_CALLED T VmInteger(VmExtra extra, T a, T b, T c) {
  const int bits = extra.parameter;
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (extra.op) {
    case VmOp::kAdd:
      return static_cast<T>(ua + ub);
    case VmOp::kSubtract:
      return static_cast<T>(ua - ub);
    case VmOp::kMultiply:
      return static_cast<T>(ua * ub);
    case VmOp::kDivide:
      if (b == 0) return static_cast<T>(-1);
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return static_cast<T>(0 - ua);
      }
      return static_cast<T>(a / b);
    case VmOp::kRemainder:
      if (b == 0) return a;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    case VmOp::kMaximum:
      return a < b ? b : a;
    case VmOp::kMinimum:
      return b < a ? b : a;
    case VmOp::kClamp: {
      const T larger = a < b ? b : a;
      return c < larger ? c : larger;
    }
    case VmOp::kPower:
      return VmPower(a, b);
    case VmOp::kAnd:
      return a & b;
    case VmOp::kOr:
      return a | b;
    case VmOp::kXor:
      return a ^ b;
    case VmOp::kNot:
      return static_cast<T>(~a);
    case VmOp::kNotPred:
      return a == 0 ? 1 : 0;
    case VmOp::kNegate:
      return static_cast<T>(0 - ua);
    case VmOp::kAbs:
      if constexpr (std::is_signed_v<T>) return a < 0 ? static_cast<T>(0 - ua) : a;
      return a;
    case VmOp::kSign:
      if constexpr (std::is_signed_v<T>) return static_cast<T>((a > 0) - (a < 0));
      return a;
    case VmOp::kMulhi:
      if constexpr (sizeof(T) == 4 && std::is_signed_v<T>)
        return static_cast<T>(static_cast<int64_t>(a) * b >> bits);
      else if constexpr (sizeof(T) == 4)
        return static_cast<T>(ua * ub >> bits);
      else if constexpr (std::is_signed_v<T>)
        return static_cast<T>(static_cast<__int128>(a) * b >> 64);
      else
        return static_cast<T>(static_cast<unsigned __int128>(a) * b >> 64);
    case VmOp::kShiftLeft: {
      const uint64_t count = VmLowBits(ub, bits);
      return count >= static_cast<uint64_t>(bits) ? T{0} : static_cast<T>(ua << count);
    }
    case VmOp::kShiftRightLogical: {
      const uint64_t count = VmLowBits(ub, bits);
      return count >= static_cast<uint64_t>(bits) ? T{0} : static_cast<T>(VmLowBits(ua, bits) >> count);
    }
    case VmOp::kShiftRightArithmetic: {
      const uint64_t count = VmLowBits(ub, bits);
      return static_cast<T>(VmSignedBits(ua, bits) >> (count >= static_cast<uint64_t>(bits) ? 63 : count));
    }
    case VmOp::kPopcnt:
      return static_cast<T>(VmPopcount(VmLowBits(ua, bits)));
    case VmOp::kCountLeadingZeros:
      return static_cast<T>(VmLeadingZeros(VmLowBits(ua, bits)) - (64 - bits));
    case VmOp::kCut:
      return std::is_signed_v<T> ? static_cast<T>(VmSignedBits(ua, bits))
                                 : static_cast<T>(VmLowBits(ua, bits));
    default:
      return a;
  }
}

// --- Floats.
template <class T>
HLO_DEVICE T VmMaximum(T a, T b) {
  const T larger = a > b || (a == b && !std::signbit(a)) ? a : b;
  return a != a ? a : larger;
}
template <class T>
HLO_DEVICE T VmMinimum(T a, T b) {
  const T smaller = a < b || (a == b && std::signbit(a)) ? a : b;
  return a != a ? a : smaller;
}

template <class T>
HLO_DEVICE T VmReducePrecision(T value, int exponent_bits, int mantissa_bits) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52, kExponent = sizeof(T) == 4 ? 8 : 11;
  if (value != value) return value;
  Bits bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if (mantissa_bits < kMantissa) {
    const int dropped = kMantissa - mantissa_bits;
    const Bits half = ((Bits{1} << (dropped - 1)) - 1) + ((bits >> dropped) & 1);  // Ties round to even.
    bits = (bits + half) & ~((Bits{1} << dropped) - 1);
  }
  if (exponent_bits < kExponent) {
    const int64_t bias = (int64_t{1} << (kExponent - 1)) - 1,
                  narrow = (int64_t{1} << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int64_t>((bits >> kMantissa) & ((Bits{1} << kExponent) - 1));
    const Bits sign = bits & (Bits{1} << (8 * sizeof(T) - 1));
    if (exponent > bias + narrow) bits = sign | ((Bits{1} << kExponent) - 1) << kMantissa;
    if (exponent <= bias - narrow) bits = sign;
  }
  __builtin_memcpy(&value, &bits, sizeof bits);
  return value;
}

HLO_DEVICE float VmRound(ElementType type, double value) {
  if (type == ElementType::kBF16) return BF16ToF32(F32ToBF16(static_cast<float>(value)));
  if (type == ElementType::kF16) return F16ToF32(F32ToF16(static_cast<float>(value)));
  const FloatFormat format = FormatOf(type);
  return static_cast<float>(DecodeSmall(format, EncodeSmall(format, value)));
}

template <class T>
HLO_DEVICE_CALLED T VmFloat(VmExtra extra, T a, T b, T c) {
  switch (extra.op) {
    case VmOp::kAdd:
      return a + b;
    case VmOp::kSubtract:
      return a - b;
    case VmOp::kMultiply:
      return a * b;
    case VmOp::kDivide:
      return a / b;
    case VmOp::kRemainder:
      return std::fmod(a, b);
    case VmOp::kMaximum:
      return VmMaximum(a, b);
    case VmOp::kMinimum:
      return VmMinimum(a, b);
    case VmOp::kClamp:
      return VmMinimum(VmMaximum(a, b), c);
    case VmOp::kPower:
      return std::pow(a, b);
    case VmOp::kAtan2:
      return std::atan2(a, b);
    case VmOp::kNegate:
      return -a;
    case VmOp::kAbs:
      return std::fabs(a);
    case VmOp::kSign:
      return a == 0 || a != a ? a : std::copysign(T{1}, a);
    case VmOp::kFloor:
      return std::floor(a);
    case VmOp::kCeil:
      return std::ceil(a);
    case VmOp::kRoundNearestAfz:
      return std::round(a);
    case VmOp::kRoundNearestEven:
      return std::nearbyint(a);
    case VmOp::kSqrt:
      return std::sqrt(a);
    case VmOp::kRsqrt:
      return T{1} / std::sqrt(a);
    case VmOp::kCbrt:
      return std::cbrt(a);
    case VmOp::kExponential:
      return std::exp(a);
    case VmOp::kExponentialMinusOne:
      return std::expm1(a);
    case VmOp::kExp2:
      return std::exp2(a);
    case VmOp::kLog:
      return std::log(a);
    case VmOp::kLogPlusOne:
      return std::log1p(a);
    case VmOp::kLog2:
      return std::log2(a);
    case VmOp::kLogistic:
      return T{1} / (T{1} + std::exp(-a));
    case VmOp::kSine:
      return std::sin(a);
    case VmOp::kCosine:
      return std::cos(a);
    case VmOp::kTan:
      return std::tan(a);
    case VmOp::kSinh:
      return std::sinh(a);
    case VmOp::kCosh:
      return std::cosh(a);
    case VmOp::kTanh:
      return std::tanh(a);
    case VmOp::kAsin:
      return std::asin(a);
    case VmOp::kAcos:
      return std::acos(a);
    case VmOp::kAsinh:
      return std::asinh(a);
    case VmOp::kAcosh:
      return std::acosh(a);
    case VmOp::kAtanh:
      return std::atanh(a);
    case VmOp::kErf:
      return std::erf(a);
    case VmOp::kReducePrecision:
      return VmReducePrecision(a, extra.parameter >> 8, extra.parameter & 0xff);
    case VmOp::kImag:
      return T{0};
    default:  // kReal.
      return a;
  }
}

template <class T>
HLO_DEVICE auto VmTotalOrder(T value) {
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  I bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? static_cast<I>(~(bits & std::numeric_limits<I>::max())) : bits;
}

template <class T>
HLO_DEVICE bool VmCompare(VmOp op, T a, T b) {
  switch (op) {
    case VmOp::kEq:
      return a == b;
    case VmOp::kNe:
      return a != b;
    case VmOp::kGe:
      return a >= b;
    case VmOp::kGt:
      return a > b;
    case VmOp::kLe:
      return a <= b;
    default:
      return a < b;
  }
}

// --- Conversions, with the semantics of the reference (2.1 to 2.3).
HLO_DEVICE int64_t VmToSigned(double value, int bits) {
  const int64_t high = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1), low = -high - 1;
  if (value != value) return 0;
  if (value >= static_cast<double>(high)) return high;
  if (value <= static_cast<double>(low)) return low;
  return static_cast<int64_t>(value);
}
HLO_DEVICE uint64_t VmToUnsigned(double value, int bits) {
  const uint64_t high = ~uint64_t{0} >> (64 - bits);
  if (value != value || value <= 0) return 0;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<uint64_t>(value);
}
// Equivalent to scalar::StochasticConvert.
HLO_DEVICE int64_t VmStochastic(double value, uint64_t random, int random_bits, int bits) {
  const int64_t max = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1), min = -max - 1;
  if (value != value) return 0;
  if (value >= static_cast<double>(max)) return max;
  if (value <= static_cast<double>(min)) return min;
  const double magnitude = std::fabs(value);
  auto result = static_cast<int64_t>(magnitude);
  const double fraction = magnitude - std::trunc(magnitude);
  if (fraction != 0 && random < static_cast<uint64_t>(std::ldexp(fraction, random_bits))) {
    if (result == max) return min;
    ++result;
  }
  return value < 0 ? -result : result;
}
template <class To, class From>
HLO_DEVICE To VmConvert(From value, int bits) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_signed_v<To>)
      return static_cast<To>(VmToSigned(static_cast<double>(value), bits));
    else
      return static_cast<To>(VmToUnsigned(static_cast<double>(value), bits));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace hlo::cuda
