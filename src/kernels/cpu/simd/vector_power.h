#pragma once
// This file implements powers of vectors of f32 by logarithms and exponentials in f64, which are accurate
// enough for errors of at most 0.6 ULP.

#include <cstdint>
#include <limits>

#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

namespace internal {
// The numbers of the functions below, which machine code shares. log2(m) is s times a polynomial of s^2 for
// s = (m - 1) / (m + 1), and 2^r is 1 plus r times a polynomial of r. The first coefficients are those of the
// highest power.
inline constexpr double kLog2Terms[] = {0.3407301064212303, 0.41167271878743844, 0.577083584974671,
                                        0.9617966733416924, 2.8853900817900864};
inline constexpr double kExp2Terms[] = {0.00015353358916416659, 0.0013398876963995306, 0.009618437385353706,
                                        0.055503324650698814,   0.24022647913281142,   0.6931472028576041};
// Logarithms are computed of numbers from this one, which is near sqrt(1/2), to its double. The sum of its
// bits and the offset are those of 1.
inline constexpr uint64_t kLog2Offset = 0x3ff0000000000000 - 0x3fe6a09e00000000;
inline constexpr uint64_t kExponentBitsF64 = 0xfff0000000000000;
// Doubles of this magnitude, as those of kToIntegerF64, are integers, which their low bits hold. These have
// the bits of a positive integer.
inline constexpr double kFromIntegerF64 = 4503599627370496.0;
inline constexpr uint64_t kBitsOfFromIntegerF64 = 0x4330000000000000;
inline constexpr double kExponentBiasF64 = 1023;
// The power is 0 or infinite if its exponent is outside this range.
inline constexpr double kLeastPower = -200, kMostPower = 200;
// Other arguments are zero, negative, infinite or not a number: bits from the first one, and exponents with
// all of these bits.
inline constexpr uint32_t kLargestBitsOfBase = 0x7f7fffff, kExponentBits = 0x7f800000;

[[gnu::always_inline]] inline Vector<double> Clamp(Vector<double> x, double least, double most) {
#if defined(HLO_AVX512_VECTORS)
  return _mm512_max_pd(_mm512_min_pd(x, _mm512_set1_pd(most)), _mm512_set1_pd(least));
#elif defined(HLO_AVX2_VECTORS)
  return _mm256_max_pd(_mm256_min_pd(x, _mm256_set1_pd(most)), _mm256_set1_pd(least));
#else
  x = x < most ? x : Broadcast(most);
  return x > least ? x : Broadcast(least);
#endif
}

// Returns x^y for x > 0. The result for an infinite x is that for 2^1024, and that for 0 is the one for
// 2^-1023.
[[gnu::always_inline]] inline Vector<double> PowerOfPositive(Vector<double> x, Vector<double> y) {
  using D = Vector<double>;
  using Bits = Vector<uint64_t>;
  const Bits bits = BitsOf<Bits>(x), shifted = bits + kLog2Offset;
  const D exponent = BitsOf<D>((shifted >> kMantissaWidthF64) | kBitsOfFromIntegerF64) -
                     (kFromIntegerF64 + kExponentBiasF64);
  const D m = BitsOf<D>(bits - (shifted & kExponentBitsF64) + kBitsOfOneF64);
  const D s = (m - 1.0) / (m + 1.0);
  const D log = MulAdd(s, Polynomial(kLog2Terms, s * s), exponent);
  const D power = Clamp(log * y, kLeastPower, kMostPower);
  const D integer = power + kToIntegerF64, r = power - (integer - kToIntegerF64);
  const D result = MulAdd(r, Polynomial(kExp2Terms, r), Broadcast(1.0));
  return BitsOf<D>(BitsOf<Bits>(result) + (BitsOf<Bits>(integer) << kMantissaWidthF64));
}

[[gnu::always_inline]] inline Vector<float> PowerOfPositive(Vector<float> x, Vector<float> y) {
#if defined(HLO_AVX512_VECTORS)
  const auto upper = [](__m512 v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); };
  const auto lower = [](__m512 v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); };
  const __m256 high = _mm512_cvtpd_ps(PowerOfPositive(upper(x), upper(y)));
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(PowerOfPositive(lower(x), lower(y)))),
                            high, 1);
#elif defined(HLO_AVX2_VECTORS)
  const auto upper = [](__m256 v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); };
  const auto lower = [](__m256 v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); };
  const __m128 high = _mm256_cvtpd_ps(PowerOfPositive(upper(x), upper(y)));
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(PowerOfPositive(lower(x), lower(y)))),
                              high, 1);
#else
  using Half = VectorOf<float, kVectorBytes / 2>::type;
  Half bases[2], exponents[2], results[2];
  std::memcpy(bases, &x, sizeof x);
  std::memcpy(exponents, &y, sizeof y);
  for (int k = 0; k < 2; ++k) {
    results[k] =
        __builtin_convertvector(PowerOfPositive(__builtin_convertvector(bases[k], Vector<double>),
                                                __builtin_convertvector(exponents[k], Vector<double>)),
                                Half);
  }
  std::memcpy(&x, results, sizeof x);
  return x;
#endif
}

// Returns 1 where the float is odd, 0 where it is even, and a negative number where it is not an integer.
[[gnu::always_inline]] inline Vector<int32_t> ParityOf(Vector<float> y) {
  using F = Vector<float>;
  using Words = Vector<int32_t>;
  const F magnitude = BitsOf<F>(BitsOf<Vector<uint32_t>>(y) & 0x7fffffffu);
  constexpr float kEvenFrom = 1 << (kMantissaWidth + 1);
  const F small = magnitude < kEvenFrom ? magnitude : F{};
  const Words integer = __builtin_convertvector(small, Words);
  const Words is_integer = __builtin_convertvector(integer, F) == small;
  return (integer & 1) | ~is_integer;
}

// Computes powers of any numbers.
[[gnu::noinline]] inline Vector<float> PowerOfAny(Vector<float> x, Vector<float> y) {
  using F = Vector<float>;
  using Bits = Vector<uint32_t>;
  using Words = Vector<int32_t>;
  constexpr float kMost = std::numeric_limits<float>::max(),
                  kInfinity = std::numeric_limits<float>::infinity();
  const Bits bits = BitsOf<Bits>(x), sign = bits & 0x80000000u;
  const F magnitude = BitsOf<F>(bits ^ sign);
  const Words is_limit = (magnitude == 0.0f) | (magnitude == kInfinity);
  // An infinite exponent has the results of the largest finite one, also for a base of magnitude 1.
  F exponent = is_limit ? y * kInfinity : y;
  exponent = exponent > kMost ? Broadcast(kMost) : exponent;
  exponent = exponent < -kMost ? Broadcast(-kMost) : exponent;
  const F power = PowerOfPositive(magnitude, exponent);
  const Words parity = ParityOf(y);
  const Bits is_odd = BitsOf<Bits>(parity > 0);
  F result = BitsOf<F>(BitsOf<Bits>(power) | (sign & is_odd));
  result = ((x < 0.0f) & ~is_limit & (parity < 0)) ? BitsOf<F>(Bits{} + kBitsOfNaN) : result;
  result = ((x == x) & (y == y)) ? result : x + y;
  return ((x == 1.0f) | (y == 0.0f)) ? Broadcast(1.0f) : result;
}
}  // namespace internal

// It is accurate only if kFusesMulAdd.
[[gnu::always_inline]] inline Vector<float> PowerF32(Vector<float> x, Vector<float> y) {
  using Bits = Vector<uint32_t>;
  const Bits base = BitsOf<Bits>(x) - 1, exponent = BitsOf<Bits>(y) & internal::kExponentBits;
  const bool is_special =
      internal::AnyLane((base >= internal::kLargestBitsOfBase) | (exponent == internal::kExponentBits));
  if (__builtin_expect(is_special, false)) return internal::PowerOfAny(x, y);
  return internal::PowerOfPositive(x, y);
}

}  // namespace hlo::cpu
