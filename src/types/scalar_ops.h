#pragma once
// Scalar semantics of the operations (semantics 3.3 to 3.12). Each is a function object over the types in
// which engines compute: bool, integers, float, double and std::complex of these. Integers wrap. Operations
// that depend on the nominal width of the type (s4 in an int64_t) take it as `bits`. All but those on complex
// numbers also compile for the device.

#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/host_device.h"
#include "types/complex_functions.h"

namespace hlo::scalar {

template <class T>
concept Pred = std::same_as<T, bool>;
template <class T>
concept Signed = std::signed_integral<T>;
template <class T>
concept Unsigned = std::unsigned_integral<T> && !Pred<T>;
template <class T>
concept Integer = Signed<T> || Unsigned<T>;
template <class T>
concept Float = std::floating_point<T>;
template <class T>
concept ComplexNumber = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
template <class T>
concept FloatOrComplex = Float<T> || ComplexNumber<T>;
template <class T>
concept Number = Integer<T> || FloatOrComplex<T>;
template <class T>
concept Ordered = Pred<T> || Integer<T> || Float<T>;

// Applies a function of complex_functions.h, which computes in f64.
template <class F, ComplexNumber T, std::same_as<T>... More>
HLO_HOST_DEVICE T ComplexValue(F function, T a, More... more) {
  const auto parts = [](T z) { return ComplexParts<double>{z.real(), z.imag()}; };
  const ComplexParts<double> value = function(parts(a), parts(more)...);
  using Part = typename T::value_type;
  return T(static_cast<Part>(value.re), static_cast<Part>(value.im));
}

// Return the low `bits` bits of an integer, zero- and sign-extended.
template <Integer T>
HLO_HOST_DEVICE constexpr uint64_t UnsignedBits(T value, int bits) {
  const auto u = static_cast<uint64_t>(value);
  return bits >= 64 ? u : u & ((uint64_t{1} << bits) - 1);
}
template <Integer T>
HLO_HOST_DEVICE constexpr int64_t SignedBits(T value, int bits) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - bits)) >> (64 - bits);
}

// Makes the function object F for a type of this nominal width.
template <class F>
HLO_HOST_DEVICE F ForBits(int bits) {
  if constexpr (requires { F{1}; })
    return F{bits};
  else
    return (void)bits, F{};
}

// Arithmetic.

// Wraps; is `or` for pred.
struct Add {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  template <FloatOrComplex T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
  template <Pred T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a || b;
  }
};

// Wraps.
struct Subtract {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  template <FloatOrComplex T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a - b;
  }
};

// Wraps; is `and` for pred.
struct Multiply {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    using Parts = ComplexParts<typename T::value_type>;
    const Parts product = complex_functions::Multiply(Parts{a.real(), a.imag()}, Parts{b.real(), b.imag()});
    return T(product.re, product.im);
  }
  template <Pred T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a && b;
  }
};

// Truncates toward zero. Division by zero gives -1, or all ones if unsigned; minimum / -1 gives the minimum.
struct Divide {
  template <Signed T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    if (b == 0) return -1;
    if (b == -1) return Subtract()(T{0}, a);
    return static_cast<T>(a / b);
  }
  template <Unsigned T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return b == 0 ? std::numeric_limits<T>::max() : static_cast<T>(a / b);
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a / b;
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return ComplexValue(complex_functions::Divide, a, b);
  }
};

// The result has the sign of the dividend. Modulo zero gives the dividend for integers and NaN for floats;
// modulo -1 gives 0.
struct Remainder {
  template <Signed T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    if (b == 0) return a;
    return b == -1 ? T{0} : static_cast<T>(a % b);
  }
  template <Unsigned T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return b == 0 ? a : static_cast<T>(a % b);
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return std::fmod(a, b);
  }
};

// Propagates NaN, the first of two; -0 is less than +0. Branch-free, so that loops vectorise.
struct Maximum {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    const T larger = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? a : larger;
  }
  template <Pred T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a || b;
  }
};

struct Minimum {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return b < a ? b : a;
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    const T smaller = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? a : smaller;
  }
  template <Pred T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return a && b;
  }
};

// Returns min(high, max(x, low)); propagates the first NaN of the three.
struct Clamp {
  template <Ordered T>
  HLO_HOST_DEVICE T operator()(T low, T x, T high) const {
    return Minimum()(Maximum()(low, x), high);
  }
};

// Returns base^exponent; 1^y = x^0 = 1 even for NaN. Integers wrap modulo 2^n; a negative exponent gives 0
// unless the base is 1 or -1.
struct Power {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T base, T exponent) const {
    if constexpr (Signed<T>) {
      if (exponent < 0)
        return base == 1 ? T{1} : base == -1 ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T{0};
    }
    uint64_t result = 1, square = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, square *= square) {
      if ((rest & 1) != 0) result *= square;
    }
    return static_cast<T>(result);
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T base, T exponent) const {
    return std::pow(base, exponent);
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T base, T exponent) const {
    return ComplexValue(complex_functions::Power, base, exponent);
  }
};

// Returns the angle of the point (x, y) = (b, a).
struct Atan2 {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return std::atan2(a, b);
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T y, T x) const {
    return ComplexValue(complex_functions::Atan2, y, x);
  }
};

// Returns the high n bits of the 2n-bit product.
struct Mulhi {
  int bits;
  template <Signed T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    using Product = std::conditional_t<sizeof(T) < 8, int64_t, __int128>;
    return static_cast<T>((static_cast<Product>(a) * b) >> bits);
  }
  template <Unsigned T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    using Product = std::conditional_t<sizeof(T) < 8, uint64_t, unsigned __int128>;
    return static_cast<T>((static_cast<Product>(a) * b) >> bits);
  }
  template <Pred T>
  HLO_HOST_DEVICE T operator()(T, T) const {
    return false;
  }
};

// Bit operations.

struct And {
  template <std::integral T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <std::integral T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <std::integral T>
  HLO_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return static_cast<T>(~a);
  }
  template <Pred T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return !a;
  }
};

// The shift count is an unsigned n-bit number. Counts of n and more shift out all bits.
struct ShiftLeft {
  int bits;
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T count) const {
    const uint64_t c = UnsignedBits(count, bits);
    return c >= static_cast<uint64_t>(bits) ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << c);
  }
};
struct ShiftRightLogical {
  int bits;
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T count) const {
    const uint64_t c = UnsignedBits(count, bits);
    return c >= static_cast<uint64_t>(bits) ? T{0} : static_cast<T>(UnsignedBits(a, bits) >> c);
  }
};
// Counts of n and more leave only the sign bit, also for unsigned types.
struct ShiftRightArithmetic {
  int bits;
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a, T count) const {
    const uint64_t c = UnsignedBits(count, bits);
    return static_cast<T>(SignedBits(a, bits) >> (c >= static_cast<uint64_t>(bits) ? 63 : c));
  }
};

HLO_HOST_DEVICE int OneCount(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __popcll(x);
#else
  return std::popcount(x);
#endif
}
HLO_HOST_DEVICE int LeadingZeroCount(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(x));
#else
  return std::countl_zero(x);
#endif
}

// Counts the ones in the n-bit pattern.
struct Popcnt {
  int bits;
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return static_cast<T>(OneCount(UnsignedBits(a, bits)));
  }
};
struct CountLeadingZeros {
  int bits;
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return static_cast<T>(LeadingZeroCount(UnsignedBits(a, bits)) - (64 - bits));
  }
};

// Signs and rounding.

// Abs of the minimum is the minimum. Returns the modulus of a complex number.
struct Abs {
  template <Signed T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return a < 0 ? Subtract()(T{0}, a) : a;
  }
  template <Unsigned T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return a;
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return std::fabs(a);
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE typename T::value_type operator()(T a) const {
    return static_cast<typename T::value_type>(complex_functions::Abs({a.real(), a.imag()}));
  }
};

struct Negate {
  template <Integer T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return Subtract()(T{0}, a);
  }
  template <FloatOrComplex T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return -a;
  }
};

// Returns -1, 0 or 1; preserves signed zeros and NaN. Returns z / |z| for complex numbers.
struct Sign {
  template <Signed T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return static_cast<T>((a > 0) - (a < 0));
  }
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return a == 0 || std::isnan(a) ? a : std::copysign(T{1}, a);
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return ComplexValue(complex_functions::Sign, a);
  }
};

struct Floor {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return std::floor(a);
  }
};
struct Ceil {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return std::ceil(a);
  }
};
// Rounds ties away from zero.
struct RoundNearestAfz {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return std::round(a);
  }
};
// Rounds ties to even.
struct RoundNearestEven {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return std::nearbyint(a);
  }
};

struct IsFinite {
  template <Float T>
  HLO_HOST_DEVICE bool operator()(T a) const {
    return std::isfinite(a);
  }
};

// Parts of complex numbers.

struct Real {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return a;
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE typename T::value_type operator()(T a) const {
    return a.real();
  }
};
struct Imag {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T) const {
    return 0;
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE typename T::value_type operator()(T a) const {
    return a.imag();
  }
};
struct Complex {
  template <Float T>
  HLO_HOST_DEVICE std::complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};

// Elementary functions.

// Improves the library's root, which is up to 4 ULP off, by a step of Newton's method to at most 1 ULP.
struct Cbrt {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    const T root = std::cbrt(a), square = root * root;
    if (root == 0 || !std::isfinite(square)) return root;
    const T rest_of_square = std::fma(root, root, -square);
    const T residual = std::fma(square, root, -a) + rest_of_square * root;
    return root - residual / (3 * square);
  }
};

#define HLO_STD_FUNCTION(name, concept_name, function) \
  struct name {                                        \
    template <concept_name T>                          \
    HLO_HOST_DEVICE T operator()(T a) const {          \
      return function(a);                              \
    }                                                  \
  };
HLO_STD_FUNCTION(Sinh, FloatOrComplex, std::sinh)
HLO_STD_FUNCTION(Cosh, FloatOrComplex, std::cosh)
HLO_STD_FUNCTION(Asin, FloatOrComplex, std::asin)
HLO_STD_FUNCTION(Acos, FloatOrComplex, std::acos)
HLO_STD_FUNCTION(Asinh, FloatOrComplex, std::asinh)
HLO_STD_FUNCTION(Acosh, FloatOrComplex, std::acosh)
HLO_STD_FUNCTION(Atanh, FloatOrComplex, std::atanh)
HLO_STD_FUNCTION(Erf, Float, std::erf)
#undef HLO_STD_FUNCTION

// Elementary functions whose complex versions are in complex_functions.h.
#define HLO_FUNCTION(name, function)                   \
  struct name {                                        \
    template <Float T>                                 \
    HLO_HOST_DEVICE T operator()(T a) const {          \
      return function(a);                              \
    }                                                  \
    template <ComplexNumber T>                         \
    HLO_HOST_DEVICE T operator()(T a) const {          \
      return ComplexValue(complex_functions::name, a); \
    }                                                  \
  };
HLO_FUNCTION(Exponential, std::exp)
HLO_FUNCTION(ExponentialMinusOne, std::expm1)
HLO_FUNCTION(Exp2, std::exp2)
HLO_FUNCTION(Log, std::log)
HLO_FUNCTION(LogPlusOne, std::log1p)
HLO_FUNCTION(Log2, std::log2)
HLO_FUNCTION(Sqrt, std::sqrt)
HLO_FUNCTION(Sine, std::sin)
HLO_FUNCTION(Cosine, std::cos)
HLO_FUNCTION(Tan, std::tan)
HLO_FUNCTION(Tanh, std::tanh)
#undef HLO_FUNCTION

// Returns 1 / (1 + exp(-x)). exp overflows as in the arithmetic type of this width.
struct Logistic {
  int bits;
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    const T e = std::exp(-a);
    return 1 / (1 + (bits <= 32 ? static_cast<T>(static_cast<float>(e)) : e));
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T z) const {
    return ComplexValue(complex_functions::Logistic, z);
  }
};

struct Rsqrt {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return T(1) / std::sqrt(a);
  }
  template <ComplexNumber T>
  HLO_HOST_DEVICE T operator()(T a) const {
    return ComplexValue(complex_functions::Rsqrt, a);
  }
};

// Comparison and selection.

struct Eq {
  template <class T>
  HLO_HOST_DEVICE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  HLO_HOST_DEVICE bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Ge {
  template <Ordered T>
  HLO_HOST_DEVICE bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Gt {
  template <Ordered T>
  HLO_HOST_DEVICE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Le {
  template <Ordered T>
  HLO_HOST_DEVICE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Lt {
  template <Ordered T>
  HLO_HOST_DEVICE bool operator()(T a, T b) const {
    return a < b;
  }
};

// Returns a key whose order is the total order -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN; NaNs of equal
// sign are ordered by payload.
HLO_HOST_DEVICE int64_t TotalOrderKey(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? ~(bits & std::numeric_limits<int64_t>::max()) : bits;
}
HLO_HOST_DEVICE int32_t TotalOrderKey(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? ~(bits & std::numeric_limits<int32_t>::max()) : bits;
}

template <class T>
HLO_HOST_DEVICE T Select(bool predicate, T on_true, T on_false) {
  return predicate ? on_true : on_false;
}

// Conversion.

// Truncates toward zero and saturates to n bits; NaN gives 0.
HLO_HOST_DEVICE int64_t ToSigned(double value, int bits) {
  const int64_t high = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1), low = -high - 1;
  if (std::isnan(value)) return 0;
  if (value >= static_cast<double>(high)) return high;
  if (value <= static_cast<double>(low)) return low;
  return static_cast<int64_t>(value);
}
HLO_HOST_DEVICE uint64_t ToUnsigned(double value, int bits) {
  const uint64_t high = ~uint64_t{0} >> (64 - bits);
  if (std::isnan(value) || value <= 0) return 0;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<uint64_t>(value);
}

// Rounds to a format with these exponent and mantissa bits and without subnormals, and converts back.
template <Float T>
HLO_HOST_DEVICE T ReducePrecision(T value, int exponent_bits, int mantissa_bits) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr int kExponent = static_cast<int>(sizeof(T)) * 8 - 1 - kMantissa;
  if (std::isnan(value)) return value;
  Bits bits = std::bit_cast<Bits>(value);
  if (mantissa_bits < kMantissa) {
    const int dropped = kMantissa - mantissa_bits;
    const Bits half = ((Bits{1} << (dropped - 1)) - 1) + ((bits >> dropped) & 1);  // Rounds ties to even.
    bits = (bits + half) & ~((Bits{1} << dropped) - 1);  // A carry into the exponent is correct.
  }
  if (exponent_bits < kExponent) {
    const int64_t bias = (int64_t{1} << (kExponent - 1)) - 1,
                  narrow = (int64_t{1} << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int64_t>((bits >> kMantissa) & ((Bits{1} << kExponent) - 1));
    if (exponent > bias + narrow) return std::copysign(std::numeric_limits<T>::infinity(), value);
    if (exponent <= bias - narrow) return std::copysign(T{0}, value);
  }
  return std::bit_cast<T>(bits);
}

// Rounds stochastically to a signed n-bit integer: up with a probability equal to the fraction, decided by a
// random number of `random_bits` bits.
HLO_HOST_DEVICE int64_t StochasticConvert(double value, uint64_t random, int random_bits, int bits) {
  const int64_t max = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1), min = -max - 1;
  if (std::isnan(value)) return 0;
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

}  // namespace hlo::scalar
