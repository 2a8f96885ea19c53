#pragma once
// This file implements transcendental functions on vectors of f32, and tanh on vectors of f64, with errors up
// to 2.6 ULP, by argument reduction and minimax polynomials for the relative error.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// True if the target has fused multiply-add.
#if (defined(HLO_AVX2_VECTORS) && defined(__FMA__)) || (defined(__AVX512F__) && !defined(HLO_VECTOR_BYTES))
inline constexpr bool kFusesMulAdd = true;
#else
inline constexpr bool kFusesMulAdd = false;
#endif

// Returns a vector with `value` in lane 0 and ones elsewhere, without a load from memory.
template <class V, class T>
[[gnu::always_inline]] inline V PaddedWithOnes(T value) {
  V v = V{} + T{1};
  v[0] = value;
  return v;
}

namespace internal {
[[gnu::always_inline]] inline Vector<float> MulAdd(Vector<float> a, Vector<float> b, Vector<float> c) {
#if defined(HLO_AVX2_VECTORS) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__AVX512F__) && !defined(HLO_VECTOR_BYTES)
  return _mm512_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] inline Vector<double> MulAdd(Vector<double> a, Vector<double> b, Vector<double> c) {
#if defined(HLO_AVX2_VECTORS) && defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__AVX512F__) && !defined(HLO_VECTOR_BYTES)
  return _mm512_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}
// The numbers of the functions below, which machine code shares. The first coefficients of polynomials are
// those of the highest power.
inline constexpr float kToInteger = 12582912.0f;  // Floats of this magnitude are integers.
inline constexpr int32_t kBitsOfToInteger = 0x4b400000;
inline constexpr float kLog2OfE = 1.44269504f;
inline constexpr float kNegatedLn2[] = {-0.693359375f, 2.12194440e-4f};  // The sum of these parts.
inline constexpr float kExpTerms[] = {1.381422160193324e-3f, 8.36889911442995e-3f, 4.166840389370918e-2f,
                                      0.1666651964187622f, 0.4999999403953552f};
inline constexpr float kInverseOfPi = 0.318309886f;
inline constexpr float kPi[] = {3.14159274f, -8.74227766e-8f, -3.43024902e-15f};  // The sum of these parts.
inline constexpr float kSineTerms[] = {2.6057207378471503e-6f, -1.9809577497653663e-4f, 8.333065547049046e-3f,
                                       -0.16666659712791443f};
inline constexpr float kLogTerms[] = {-0.0449096560138f, 0.104483359371f,  -0.131622326016f,
                                      0.144820609625f,   -0.166477670237f, 0.199906067766f,
                                      -0.250000545861f,  0.333334544429f,  -0.500000008226f};
// erf(x) = x + x * p(x * x) below kErfcFrom, and 1 - q(x)^8 from there to kErfOneFrom, where it rounds to 1.
inline constexpr float kErfTerms[] = {7.23606935935095e-5f,   -7.824739441275597e-4f, 5.167731083929539e-3f,
                                      -2.684351801872253e-2f, 0.1128336414694786f,    -0.3761261105537415f,
                                      0.1283791661262512f};
inline constexpr float kErfcTerms[] = {1.603207347216085e-4f,  -2.582329092547297e-3f, 1.341923605650663e-2f,
                                       -1.250177901238203e-2f, -6.000532209873199e-2f, -0.1459960192441940f,
                                       1.001086354255676f};
inline constexpr float kErfcFrom = 1.1f, kErfOneFrom = 3.93f;
// atan(t) = t + t * s * p(s) with s = t * t, for t in [0, 1].
inline constexpr float kAtanTerms[] = {-0.0017936593f, 0.0109147811f,  -0.0311781894f,
                                       0.0579579584f,  -0.0840347335f, 0.10952194f,
                                       -0.142642438f,  0.199985489f,   -0.333332986f};
inline constexpr float kLn2[] = {5.76999034e-8f, 0.693147123f};  // The sum of these parts.
// Logarithms are computed of numbers from this one to its double.
inline constexpr float kLeastOfLog = 0.75f;
inline constexpr uint32_t kBitsOfLeastOfLog = 0x3f400000, kBitsOfOne = 0x3f800000, kMantissaBits = 0x7fffff;
inline constexpr int kMantissaWidth = 23;
inline constexpr uint32_t kBitsOfNaN = 0xffc00000, kBitsOfNegativeInfinity = 0xff800000;
// exp(r) = 1 + r + r * r * p(r) for abs(r) up to log(2) / 2.
inline constexpr double kExpTermsF64[] = {
    2.5053773515869268e-08, 2.76260373222908e-07, 2.755740755406893e-06, 2.4801505275357025e-05,
    0.00019841269718985012, 0.00138888889315634,  0.008333333333389568,  0.04166666666657676,
    0.16666666666666588,    0.5000000000000006};
inline constexpr double kLog2OfEF64 = 1.4426950408889634;
inline constexpr double kNegatedLn2F64[] = {-0x1.62e42fefa39efp-1, -0x1.abc9e3b39803fp-56};  // Their sum.
inline constexpr double kToIntegerF64 = 6755399441055744.0;  // Doubles of this magnitude are integers.
inline constexpr uint64_t kBitsOfOneF64 = 0x3ff0000000000000;
inline constexpr int kMantissaWidthF64 = 52;

// Returns the value of the polynomial.
template <class T, size_t kCount>
[[gnu::always_inline]] inline Vector<T> Polynomial(const T (&terms)[kCount], Vector<T> x) {
  Vector<T> value = Broadcast(terms[0]);
#pragma GCC unroll 16
  for (size_t k = 1; k < kCount; ++k) value = MulAdd(value, x, Broadcast(terms[k]));
  return value;
}
[[gnu::always_inline]] inline Vector<float> PowerOfTwo(Vector<int32_t> n) {
  return BitsOf<Vector<float>>((n + 127) << 23);
}
// exp(x) = (1 + t) * 2^k with t near 0, for arguments whose result is not far outside the range of f32; n is
// k as a float.
struct ExpParts {
  Vector<float> t, n;
  Vector<int32_t> k;
};
[[gnu::always_inline]] inline ExpParts SplitExp(Vector<float> x) {
  using F = Vector<float>;
  const auto all = [](float value) { return Broadcast(value); };
  // The low bits of the sum hold the nearest integer.
  const F shifted = MulAdd(x, all(kLog2OfE), all(kToInteger));
  const F n = shifted - kToInteger;
  F r = MulAdd(n, all(kNegatedLn2[0]), x);
  r = MulAdd(n, all(kNegatedLn2[1]), r);
  return {MulAdd(r * r, Polynomial(kExpTerms, r), r), n, BitsOf<Vector<int32_t>>(shifted) - kBitsOfToInteger};
}
}  // namespace internal

namespace internal {
// Instructions are slow for results below the normal numbers, which occur below kSubnormalFrom. This exponent
// makes integers of such results, whose bits they are.
inline constexpr int32_t kSubnormalShift = 149;
inline constexpr float kSubnormalFrom = -87.0f;
// The result is 0 or infinite outside this range.
inline constexpr float kLeastExponent = -104.0f, kMostExponent = 89.0f;
}  // namespace internal

// NaNs propagate.
[[gnu::always_inline]] inline Vector<float> ExpF32(Vector<float> x) {
#if defined(HLO_AVX512_VECTORS)
  // The instructions return the second operand, the argument, if it is a NaN.
  const __m512 clamped = _mm512_max_ps(_mm512_set1_ps(internal::kLeastExponent),
                                       _mm512_min_ps(_mm512_set1_ps(internal::kMostExponent), x));
  const __mmask16 may_be_subnormal =
      _mm512_cmp_ps_mask(clamped, _mm512_set1_ps(internal::kSubnormalFrom), _CMP_LT_OQ);
  const internal::ExpParts parts = internal::SplitExp(clamped);
  const __m512 n =
      _mm512_mask_add_ps(parts.n, may_be_subnormal, parts.n, _mm512_set1_ps(internal::kSubnormalShift));
  const __m512 result = _mm512_scalef_ps(parts.t + 1.0f, n);
  return _mm512_mask_mov_ps(result, may_be_subnormal, _mm512_castsi512_ps(_mm512_cvtps_epi32(result)));
#else
  using F = Vector<float>;
  const F most = Broadcast(internal::kMostExponent), least = Broadcast(internal::kLeastExponent);
  F clamped = x > most ? most : x;
  clamped = clamped < least ? least : clamped;
  internal::ExpParts parts = internal::SplitExp(clamped);
#if defined(HLO_AVX2_VECTORS)
  const Vector<int32_t> may_be_subnormal = clamped < internal::kSubnormalFrom;
  const bool has_subnormals = _mm256_movemask_ps(BitsOf<__m256>(may_be_subnormal)) != 0;
  if (has_subnormals) parts.k += may_be_subnormal & internal::kSubnormalShift;
#endif
  const Vector<int32_t> half = parts.k >> 1;
  const F result = (parts.t + 1.0f) * internal::PowerOfTwo(half) * internal::PowerOfTwo(parts.k - half);
#if defined(HLO_AVX2_VECTORS)
  if (has_subnormals) return may_be_subnormal ? BitsOf<F>(_mm256_cvtps_epi32(result)) : result;
#endif
  return result;
#endif
}

[[gnu::always_inline]] inline Vector<float> TanhF32(Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  const Words bits = BitsOf<Words>(x);
  const F magnitude = BitsOf<F>(bits & 0x7fffffffu);
  // The result for abs(x) with d = exp(-2 abs(x)) - 1 is -d / (2 + d), which is 1 from 10 on.
  const F most = Broadcast(10.0f);
  const auto [t, n, k] = internal::SplitExp((magnitude > most ? most : magnitude) * -2.0f);
  const F power = internal::PowerOfTwo(k), d = internal::MulAdd(power, t, power - 1.0f);
  const Words result = BitsOf<Words>(d / (d + 2.0f));
  return BitsOf<F>((result & 0x7fffffffu) | (bits & 0x80000000u));
}

// It is accurate only if kFusesMulAdd.
[[gnu::always_inline]] inline Vector<double> TanhF64(Vector<double> x) {
  using D = Vector<double>;
  using Words = Vector<uint64_t>;
  const Words sign = BitsOf<Words>(x) & 0x8000000000000000u;
  const D magnitude = BitsOf<D>(BitsOf<Words>(x) ^ sign), most = Broadcast(20.0);
  // The result for abs(x) with d = exp(-2 abs(x)) - 1 is -d / (2 + d), which is 1 from 20 on.
  const D argument = (magnitude > most ? most : magnitude) * -2.0;
  const D shifted =
      internal::MulAdd(argument, Broadcast(internal::kLog2OfEF64), Broadcast(internal::kToIntegerF64));
  const D n = shifted - internal::kToIntegerF64;
  D r = argument;
#pragma GCC unroll 2
  for (const double part : internal::kNegatedLn2F64) r = internal::MulAdd(n, Broadcast(part), r);
  const D t = internal::MulAdd(r * r, internal::Polynomial(internal::kExpTermsF64, r), r);
  const D power =
      BitsOf<D>((BitsOf<Words>(shifted) << internal::kMantissaWidthF64) + internal::kBitsOfOneF64);
  const D d = internal::MulAdd(power, t, power - 1.0);
  return BitsOf<D>((BitsOf<Words>(d / (d + 2.0)) & 0x7fffffffffffffffu) | sign);
}

[[gnu::always_inline]] inline Vector<float> ErfF32(Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  const Words sign = BitsOf<Words>(x) & 0x80000000u;
  const F magnitude = BitsOf<F>(BitsOf<Words>(x) ^ sign), most = Broadcast(internal::kErfOneFrom);
  const F near = internal::MulAdd(x, internal::Polynomial(internal::kErfTerms, x * x), x);
  F power = internal::Polynomial(internal::kErfcTerms, magnitude > most ? most : magnitude);
  power *= power;
  power *= power;
  const F far = internal::MulAdd(-power, power, Broadcast(1.0f));
  return magnitude < internal::kErfcFrom ? near : BitsOf<F>(BitsOf<Words>(far) | sign);
}

[[gnu::always_inline]] inline Vector<float> LogisticF32(Vector<float> x) {
  return 1.0f / (1.0f + ExpF32(-x));
}

namespace internal {
[[gnu::always_inline]] inline bool AnyLane(Vector<int32_t> mask) {
#if defined(HLO_AVX512_VECTORS)
  return _mm512_movepi32_mask(BitsOf<__m512i>(mask)) != 0;
#elif defined(HLO_AVX2_VECTORS)
  return _mm256_movemask_ps(BitsOf<__m256>(mask)) != 0;
#else
  int32_t any = 0;
  for (int k = 0; k < kLanes<int32_t>; ++k) any |= mask[k];
  return any != 0;
#endif
}

// The three-part reduction modulo pi is inaccurate for larger angles.
inline constexpr float kLargestAngle = 1e5f;
template <bool kCosine>
[[gnu::noinline, gnu::cold]] Vector<float> OfLargeAngles(Vector<float> x, Vector<float> results) {
  for (int k = 0; k < kLanes<float>; ++k) {
    if (std::abs(x[k]) > kLargestAngle) results[k] = kCosine ? std::cos(x[k]) : std::sin(x[k]);
  }
  return results;
}

// Computes the sine of the distance from x to the nearest multiple of pi, or for the cosine to the nearest
// odd multiple of pi / 2, negated for odd multiples. It is accurate only if kFusesMulAdd.
template <bool kCosine>
[[gnu::always_inline]] inline Vector<float> SineOrCosine(Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  const auto all = [](float value) { return Broadcast(value); };
  const F shifted = kCosine ? MulAdd(x, all(kInverseOfPi), all(0.5f)) + kToInteger
                            : MulAdd(x, all(kInverseOfPi), all(kToInteger));
  const F n = shifted - kToInteger, halves = -(kCosine ? n - 0.5f : n);
  F r = x;
#pragma GCC unroll 4
  for (const float part : kPi) r = MulAdd(halves, all(part), r);
  const F square = r * r, q = Polynomial(kSineTerms, square);
  const Words sign = BitsOf<Words>(shifted) << 31;
  F result = BitsOf<F>(BitsOf<Words>(MulAdd(r * square, q, r)) ^ sign);
  // The reduction loses the sign of a zero.
  if constexpr (!kCosine) result = x == 0.0f ? x : result;
  const F magnitude = BitsOf<F>(BitsOf<Words>(x) & 0x7fffffffu);
  const bool has_large = AnyLane(magnitude > kLargestAngle);
  if (__builtin_expect(has_large, false)) return OfLargeAngles<kCosine>(x, result);
  return result;
}
}  // namespace internal

namespace internal {
// The exponent n of a number x = m * 2^n with m in [kLeastOfLog, 2 * kLeastOfLog), negated so that it is a
// positive zero for n = 0, and the difference of the bits of x and m.
struct NegatedExponent {
  Vector<int32_t> n;
  Vector<uint32_t> bits;
};
[[gnu::always_inline]] inline NegatedExponent SplitFloat(Vector<float> x) {
  using Words = Vector<uint32_t>;
  const Words difference = kBitsOfLeastOfLog + kMantissaBits - BitsOf<Words>(x);
  const Vector<int32_t> n = BitsOf<Vector<int32_t>>(difference) >> kMantissaWidth;
  return {n, BitsOf<Words>(n) << kMantissaWidth};
}

// Returns log((1 + f) * 2^-n). The results for the special values of x are those of log(x).
[[gnu::always_inline]] inline Vector<float> FinishLog(Vector<float> f, Vector<float> n, Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  F result = MulAdd(Polynomial(kLogTerms, f), f * f, f);
#pragma GCC unroll 2
  for (const float part : kLn2) result = MulAdd(n, Broadcast(-part), result);
  const Words is_zero = BitsOf<Words>(x == 0.0f);
  const F undefined = BitsOf<F>((is_zero & (kBitsOfNaN ^ kBitsOfNegativeInfinity)) ^ kBitsOfNaN);
  result = x > 0.0f ? result : undefined;
  return x < std::numeric_limits<float>::infinity() ? result : x + x;
}
}  // namespace internal

// These functions are fast only if kFusesMulAdd.
[[gnu::always_inline]] inline Vector<float> LogF32(Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  constexpr float kScale = 1 << internal::kMantissaWidth;  // Makes subnormal numbers normal.
  const Vector<int32_t> is_small = x < std::numeric_limits<float>::min();
  const F scaled = is_small ? x * kScale : x;
  const F added = is_small ? Broadcast<float>(internal::kMantissaWidth) : F{};
  const internal::NegatedExponent exponent = internal::SplitFloat(scaled);
  const F m = BitsOf<F>(BitsOf<Words>(scaled) + exponent.bits);
  return internal::FinishLog(m - 1.0f, __builtin_convertvector(exponent.n, F) + added, x);
}

[[gnu::always_inline]] inline Vector<float> LogPlusOneF32(Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  // The sum and its rounding error. The order of operations keeps the sign of a zero.
  const F sum = x + 1.0f, less = sum - 1.0f;
  const F error = (x - less) - ((sum - less) - 1.0f);
  const auto [n, bits] = internal::SplitFloat(sum);
  const F m = BitsOf<F>(BitsOf<Words>(sum) + bits);
  // The error does not matter for the largest sums, for which the bits of the power would be negative.
  const Vector<int32_t> power = BitsOf<Vector<int32_t>>(bits + internal::kBitsOfOne);
  const F scale = BitsOf<F>(power > 0 ? power : Vector<int32_t>{});
  return internal::FinishLog(error * scale - (1.0f - m), __builtin_convertvector(n, F), sum);
}

[[gnu::always_inline]] inline Vector<float> SinF32(Vector<float> x) {
  return internal::SineOrCosine<false>(x);
}
[[gnu::always_inline]] inline Vector<float> CosF32(Vector<float> x) {
  return internal::SineOrCosine<true>(x);
}

// Returns the angles of the points (x, y), in [-pi, pi].
[[gnu::always_inline]] inline Vector<float> Atan2F32(Vector<float> y, Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  constexpr uint32_t kSign = 0x80000000u;
  const Words sign_of_x = BitsOf<Words>(x) & kSign, sign_of_y = BitsOf<Words>(y) & kSign;
  const F a = BitsOf<F>(BitsOf<Words>(x) ^ sign_of_x), b = BitsOf<F>(BitsOf<Words>(y) ^ sign_of_y);
  const Vector<int32_t> is_steep = a < b;
  // The quotient of two zeros is 0, and that of two infinities is 1. NaNs stay NaNs.
  const F least = Broadcast(std::numeric_limits<float>::denorm_min());
  const F less = is_steep ? a : b, most = is_steep ? b : a, greater = most < least ? least : most;
  const F t = less == greater ? Broadcast(1.0f) : less / greater, s = t * t;
  F angle = internal::MulAdd(t * s, internal::Polynomial(internal::kAtanTerms, s), t);
  // Reflections at the diagonal and at the axis of y negate the angle and add multiples of pi.
  const F multiple = is_steep ? Broadcast(0.5f) : sign_of_x != 0 ? Broadcast(1.0f) : F{};
  angle = BitsOf<F>(BitsOf<Words>(angle) ^ (BitsOf<Words>(is_steep) & kSign) ^ sign_of_x);
  angle = internal::MulAdd(multiple, Broadcast(internal::kPi[1]), angle);
  angle = internal::MulAdd(multiple, Broadcast(internal::kPi[0]), angle);
  return BitsOf<F>(BitsOf<Words>(angle) | sign_of_y);
}

}  // namespace hlo::cpu
