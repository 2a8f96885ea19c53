#pragma once
// This file implements cube roots and reciprocal square roots of vectors, with errors up to 1 ULP.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

namespace internal {
template <class T>
struct CubeRootConstants;
template <>
struct CubeRootConstants<float> {
  // The sum of the bits of x^(-1/3) and a third of those of x, for results within 4 %.
  static constexpr uint32_t kFirstBits = 0x54a21d2a;
  static constexpr int kSteps = 2;  // Each step triples the number of correct bits.
  // Smaller numbers are scaled, whose residuals would be subnormal.
  static constexpr float kLeast = 0x1p-100f, kScale = 0x1p24f, kScaleOfRoot = 0x1p-8f;
};
template <>
struct CubeRootConstants<double> {
  static constexpr uint64_t kFirstBits = 0x553ef0ff289dd796;
  static constexpr int kSteps = 3;
  static constexpr double kLeast = 0x1p-960, kScale = 0x1p54, kScaleOfRoot = 0x1p-18;
};

// Returns about a third of the bits of a positive number.
[[gnu::always_inline]] inline Vector<uint32_t> ThirdOfBits(Vector<float> a) {
  const auto bits = __builtin_convertvector(BitsOf<Vector<int32_t>>(a), Vector<float>);
  return BitsOf<Vector<uint32_t>>(__builtin_convertvector(bits * (1.0f / 3), Vector<int32_t>));
}
[[gnu::always_inline]] inline Vector<uint64_t> ThirdOfBits(Vector<double> a) {
  return ((BitsOf<Vector<uint64_t>>(a) >> 32) * 0x55555555u) & 0xffffffff00000000u;
}
}  // namespace internal

// It is accurate only if kFusesMulAdd.
template <class T>
[[gnu::always_inline]] inline Vector<T> CubeRoot(Vector<T> x) {
  using Constants = internal::CubeRootConstants<T>;
  using V = Vector<T>;
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Words = Vector<Word>;
  const Words sign = BitsOf<Words>(x) & (Word{1} << (8 * sizeof(T) - 1));
  const V magnitude = BitsOf<V>(BitsOf<Words>(x) ^ sign);
  const auto is_small = magnitude < Constants::kLeast;
  const V a = is_small ? magnitude * Constants::kScale : magnitude;
  V reciprocal = BitsOf<V>(Constants::kFirstBits - internal::ThirdOfBits(a));
#pragma GCC unroll 3
  for (int step = 0; step < Constants::kSteps; ++step) {
    const V error = internal::MulAdd(-(a * reciprocal), reciprocal * reciprocal, Broadcast(T{1}));
    const V factor = internal::MulAdd(error, Broadcast(T{2} / 9), Broadcast(T{1} / 3));
    reciprocal = internal::MulAdd(reciprocal * error, factor, reciprocal);
  }
  // A step of Newton's method, with the exact square of the root.
  const V factor = reciprocal * reciprocal, root = a * factor, square = root * root;
  const V rest_of_square = internal::MulAdd(root, root, -square);
  const V residual = internal::MulAdd(rest_of_square, root, internal::MulAdd(square, root, -a));
  const V corrected = internal::MulAdd(residual, factor * (T{-1} / 3), root);
  const V result = is_small ? corrected * Constants::kScaleOfRoot : corrected;
  return magnitude < std::numeric_limits<T>::infinity() ? BitsOf<V>(BitsOf<Words>(result) | sign) : x + x;
}

// True if ReciprocalRoot has other results than the instructions for roots and quotients, which take longer.
#if defined(HLO_AVX512_VECTORS)
inline constexpr bool kApproximatesReciprocalRoots = true;
#else
inline constexpr bool kApproximatesReciprocalRoots = false;
#endif

[[gnu::always_inline]] inline Vector<double> ReciprocalRoot(Vector<double> x) {
#if defined(HLO_AVX512_VECTORS)
  const Vector<double> first = _mm512_rsqrt14_pd(x), one = Broadcast(1.0);
  Vector<double> error = internal::MulAdd(-(x * first), first, one);
  Vector<double> result =
      internal::MulAdd(first * error, internal::MulAdd(error, Broadcast(0.375), Broadcast(0.5)), first);
  error = internal::MulAdd(-(x * result), result, one);
  result = internal::MulAdd(result * error, Broadcast(0.5), result);
  constexpr int kNaN = 0x81, kZero = 0x06, kInfinite = 0x18, kNegative = 0x40;
  const __mmask8 is_exact = _mm512_fpclass_pd_mask(x, kNaN | kZero | kInfinite | kNegative);
  return _mm512_mask_blend_pd(is_exact, result, first);
#elif defined(HLO_AVX2_VECTORS)
  return 1.0 / Vector<double>(_mm256_sqrt_pd(x));
#else
  for (int k = 0; k < kLanes<double>; ++k) x[k] = 1 / std::sqrt(x[k]);
  return x;
#endif
}

}  // namespace hlo::cpu
