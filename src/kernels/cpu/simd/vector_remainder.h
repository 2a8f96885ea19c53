#pragma once
// This file implements exact remainders of vectors of floats, and exact quotients and remainders of 64-bit
// integers, by divisions of floats. It is for targets with fused multiply-add (kFusesMulAdd).

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/simd/vector_functions.h"
#include "kernels/cpu/simd/vector_power.h"
#include "types/scalar_ops.h"

namespace hlo::cpu {

namespace internal {
template <class T>
[[gnu::always_inline]] inline Vector<T> Truncated(Vector<T> x) {
#if defined(HLO_AVX512_VECTORS)
  constexpr int kTowardZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  if constexpr (sizeof(T) == 4)
    return _mm512_roundscale_ps(x, kTowardZero);
  else
    return _mm512_roundscale_pd(x, kTowardZero);
#elif defined(HLO_AVX2_VECTORS)
  constexpr int kTowardZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  if constexpr (sizeof(T) == 4)
    return _mm256_round_ps(x, kTowardZero);
  else
    return _mm256_round_pd(x, kTowardZero);
#else
  for (int k = 0; k < kLanes<T>; ++k) x[k] = std::trunc(x[k]);
  return x;
#endif
}

template <class F, class T>
[[gnu::noinline, gnu::cold]] Vector<T> OfEachLane(Vector<T> a, Vector<T> b) {
  for (int k = 0; k < kLanes<T>; ++k) a[k] = F()(a[k], b[k]);
  return a;
}

// Returns the remainder of magnitudes with a quotient below the number of integers that T represents.
template <class T>
[[gnu::always_inline]] inline Vector<T> RemainderOfMagnitudes(Vector<T> a, Vector<T> b, Vector<T> quotient) {
  // The rounded quotient is at most one too large. The remainder is a multiple of the last place of b and
  // not larger than b, so that neither operation rounds.
  const Vector<T> remainder = MulAdd(-Truncated<T>(quotient), b, a);
  return remainder < T{0} ? remainder + b : remainder;
}
}  // namespace internal

// Returns scalar::Remainder of f32 or f64.
template <class T>
[[gnu::always_inline]] inline Vector<T> RemainderOfFloats(Vector<T> x, Vector<T> y) {
  using Bits = Vector<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  constexpr T kIntegers = T{1} / std::numeric_limits<T>::epsilon();
  const Bits sign = BitsOf<Bits>(Broadcast(-T{0}));
  const Bits sign_of_x = BitsOf<Bits>(x) & sign;
  const auto a = BitsOf<Vector<T>>(BitsOf<Bits>(x) & ~sign), b = BitsOf<Vector<T>>(BitsOf<Bits>(y) & ~sign);
  const Vector<T> quotient = a / b;
  const auto is_regular = (quotient < kIntegers) & (b <= std::numeric_limits<T>::max());
  if (__builtin_expect(internal::AnyLane(BitsOf<Vector<int32_t>>(~is_regular)), false))
    return internal::OfEachLane<scalar::Remainder, T>(x, y);
  return BitsOf<Vector<T>>(BitsOf<Bits>(internal::RemainderOfMagnitudes<T>(a, b, quotient)) | sign_of_x);
}

// Returns scalar::Divide or scalar::Remainder of 64-bit integers.
template <class F, class T>
[[gnu::always_inline]] inline Vector<T> DivideIntegers(Vector<T> a, Vector<T> b) {
  using Words = Vector<uint64_t>;
  using D = Vector<double>;
  // Integers of this magnitude are exact as f64, and so is the truncated quotient: one that is no integer is
  // further from one than its rounding error.
  constexpr uint64_t kExact = uint64_t{1} << 52;
  const auto is_small = [](Vector<T> x) {
    if constexpr (std::is_signed_v<T>) return BitsOf<Words>(x) + kExact < 2 * kExact;
    return BitsOf<Words>(x) < kExact;
  };
  const auto is_regular = is_small(a) & is_small(b) & (b != T{0});
  if (__builtin_expect(internal::AnyLane(BitsOf<Vector<int32_t>>(~is_regular)), false))
    return internal::OfEachLane<F, T>(a, b);
  const D x = __builtin_convertvector(a, D), y = __builtin_convertvector(b, D);
  const D quotient = internal::Truncated<double>(x / y);
  return __builtin_convertvector(
      std::is_same_v<F, scalar::Divide> ? quotient : internal::MulAdd(-quotient, y, x), Vector<T>);
}

}  // namespace hlo::cpu
