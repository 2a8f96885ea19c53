#pragma once
// Transcendental functions of f32 on vectors, to 2 ULP: arguments are reduced to where a polynomial is close.
// The coefficients are minimax fits of the relative error.

#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd.h"

namespace hlo::cpu {

namespace internal {
[[gnu::always_inline]] inline Vector<float> MulAdd(Vector<float> a, Vector<float> b, Vector<float> c) {
#if defined(__FMA__)
  if constexpr (kVectorBytes == 32) return _mm256_fmadd_ps(a, b, c);
#endif
#if defined(__AVX512F__)
  if constexpr (kVectorBytes == 64) return _mm512_fmadd_ps(a, b, c);
#endif
  return a * b + c;
}
template <class To, class From>
[[gnu::always_inline]] inline To BitsOf(From from) {
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
[[gnu::always_inline]] inline Vector<float> PickOf(Vector<int32_t> mask, Vector<float> a, Vector<float> b) {
  return BitsOf<Vector<float>>((BitsOf<Vector<int32_t>>(a) & mask) | (BitsOf<Vector<int32_t>>(b) & ~mask));
}
[[gnu::always_inline]] inline Vector<float> PowerOfTwo(Vector<int32_t> n) {
  return BitsOf<Vector<float>>((n + 127) << 23);
}
}  // namespace internal

[[gnu::always_inline]] inline Vector<float> ExpF32(Vector<float> x) {
  using internal::MulAdd;
  using F = Vector<float>;
  const auto all = [](float value) { return Broadcast(value); };
  // Beyond, the result is 0 or infinite. NaN stays.
  F clamped = internal::PickOf(x > 89.0f, all(89.0f), x);
  clamped = internal::PickOf(x < -104.0f, all(-104.0f), clamped);
  // The nearest integer stands in the low bits of the sum.
  const F shifted = MulAdd(clamped, all(1.44269504f), all(12582912.0f));
  const F n = shifted - 12582912.0f;
  F r = MulAdd(n, all(-0.693359375f), clamped);
  r = MulAdd(n, all(2.12194440e-4f), r);
  F q = all(1.381422160193324e-3f);
  q = MulAdd(q, r, all(8.36889911442995e-3f));
  q = MulAdd(q, r, all(4.166840389370918e-2f));
  q = MulAdd(q, r, all(0.1666651964187622f));
  q = MulAdd(q, r, all(0.4999999403953552f));
  const F p = MulAdd(r * r, q, r) + 1.0f;
  const Vector<int32_t> k = internal::BitsOf<Vector<int32_t>>(shifted) - 0x4b400000;
  const Vector<int32_t> half = k >> 1;
  return p * internal::PowerOfTwo(half) * internal::PowerOfTwo(k - half);
}

[[gnu::always_inline]] inline Vector<float> TanhF32(Vector<float> x) {
  using internal::MulAdd;
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  const auto all = [](float value) { return Broadcast(value); };
  const Words bits = internal::BitsOf<Words>(x);
  const F magnitude = internal::BitsOf<F>(bits & 0x7fffffffu);
  // Odd polynomial near 0.
  const F z = x * x;
  F q = all(-5.704986862838268e-3f);
  q = MulAdd(q, z, all(2.06390880048275e-2f));
  q = MulAdd(q, z, all(-5.373971536755562e-2f));
  q = MulAdd(q, z, all(0.13331441581249237f));
  q = MulAdd(q, z, all(-0.3333328068256378f));
  const F near = MulAdd(q * z, x, x);
  // 1 - 2 / (exp(2 |x|) + 1), which is 1 from 10 on.
  const F far =
      1.0f - 2.0f / (ExpF32(internal::PickOf(magnitude > 10.0f, all(20.0f), magnitude + magnitude)) + 1.0f);
  const F signed_far = internal::BitsOf<F>(internal::BitsOf<Words>(far) | (bits & 0x80000000u));
  return internal::PickOf(magnitude < 0.625f, near, signed_far);
}

[[gnu::always_inline]] inline Vector<float> LogisticF32(Vector<float> x) {
  return 1.0f / (1.0f + ExpF32(-x));
}

}  // namespace hlo::cpu
