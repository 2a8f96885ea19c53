#pragma once
// Transcendental functions of f32 on vectors, to 2.5 ULP: arguments are reduced to where a polynomial is
// close. The coefficients are minimax fits of the relative error.

#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd.h"

namespace hlo::cpu {

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
[[gnu::always_inline]] inline Vector<float> PowerOfTwo(Vector<int32_t> n) {
  return BitsOf<Vector<float>>((n + 127) << 23);
}
// exp(x) = (1 + t) * 2^k, t near 0, for arguments of which the result is not far beyond f32.
struct ExpParts {
  Vector<float> t;
  Vector<int32_t> k;
};
[[gnu::always_inline]] inline ExpParts SplitExp(Vector<float> x) {
  using F = Vector<float>;
  const auto all = [](float value) { return Broadcast(value); };
  // The nearest integer stands in the low bits of the sum.
  const F shifted = MulAdd(x, all(1.44269504f), all(12582912.0f));
  const F n = shifted - 12582912.0f;
  F r = MulAdd(n, all(-0.693359375f), x);
  r = MulAdd(n, all(2.12194440e-4f), r);
  F q = all(1.381422160193324e-3f);
  q = MulAdd(q, r, all(8.36889911442995e-3f));
  q = MulAdd(q, r, all(4.166840389370918e-2f));
  q = MulAdd(q, r, all(0.1666651964187622f));
  q = MulAdd(q, r, all(0.4999999403953552f));
  return {MulAdd(r * r, q, r), BitsOf<Vector<int32_t>>(shifted) - 0x4b400000};
}
}  // namespace internal

[[gnu::always_inline]] inline Vector<float> ExpF32(Vector<float> x) {
  using F = Vector<float>;
  // Beyond, the result is 0 or infinite. NaN stays.
  const F most = Broadcast(89.0f), least = Broadcast(-104.0f);
  F clamped = x > most ? most : x;
  clamped = clamped < least ? least : clamped;
  const auto [t, k] = internal::SplitExp(clamped);
  const Vector<int32_t> half = k >> 1;
  return (t + 1.0f) * internal::PowerOfTwo(half) * internal::PowerOfTwo(k - half);
}

[[gnu::always_inline]] inline Vector<float> TanhF32(Vector<float> x) {
  using F = Vector<float>;
  using Words = Vector<uint32_t>;
  const Words bits = BitsOf<Words>(x);
  const F magnitude = BitsOf<F>(bits & 0x7fffffffu);
  // Of |x|, with d = exp(-2 |x|) - 1: -d / (2 + d), which is 1 from 10 on.
  const F most = Broadcast(10.0f);
  const auto [t, k] = internal::SplitExp((magnitude > most ? most : magnitude) * -2.0f);
  const F power = internal::PowerOfTwo(k), d = internal::MulAdd(power, t, power - 1.0f);
  const Words result = BitsOf<Words>(d / (d + 2.0f));
  return BitsOf<F>((result & 0x7fffffffu) | (bits & 0x80000000u));
}

[[gnu::always_inline]] inline Vector<float> LogisticF32(Vector<float> x) {
  return 1.0f / (1.0f + ExpF32(-x));
}

}  // namespace hlo::cpu
