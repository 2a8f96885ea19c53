#pragma once
// This file sums numbers that are exact in bf16, stored as bf16 or f32.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace internal {

// Loads two vectors of elements, in an unspecified order.
[[gnu::always_inline]] inline std::pair<Vector<float>, Vector<float>> LoadTwo(const bfloat16* from) {
  PrefetchAhead(from);
  return {BitsOf<Vector<float>>(LoadBlocksOfHalves<0>(from)),
          BitsOf<Vector<float>>(LoadBlocksOfHalves<1>(from))};
}
[[gnu::always_inline]] inline std::pair<Vector<float>, Vector<float>> LoadTwo(const float* from) {
  return {LoadVector(from), LoadVector(from + kLanes<float>)};
}

// Returns -0, the identity of addition.
template <class T>
[[gnu::always_inline]] inline T NegativeZero() {
  if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16::FromBits(0x8000);
  else
    return T(-0.0f);
}

}  // namespace internal

// Short partial sums are accumulated in f32, where bf16 values leave bits for carries, and added in f64.
template <class T>
float SumOfBF16(int64_t n, const T* a) {
  using Floats = Vector<float>;
  using Doubles = Vector<double>;
  constexpr int64_t kSteps = 16, kWidth = 4 * kLanes<float>;
  Doubles low = -Doubles{}, high = -Doubles{};
  const auto add = [&](Floats sums) {
    const auto [first, second] = AsDoubles(sums);
    low += first;
    high += second;
  };
  int64_t i = 0;
  while (i + kWidth <= n) {
    Floats p0 = -Floats{}, p1 = p0, p2 = p0, p3 = p0;
    const int64_t end = std::min(n - kWidth, i + (kSteps - 1) * kWidth);
    for (; i <= end; i += kWidth) {
      const auto [a0, a1] = internal::LoadTwo(a + i);
      const auto [a2, a3] = internal::LoadTwo(a + i + kWidth / 2);
      p0 += a0;
      p1 += a1;
      p2 += a2;
      p3 += a3;
    }
    add((p0 + p1) + (p2 + p3));
  }
  if (i < n) {
    alignas(64) T rest[kWidth];
    std::fill_n(rest, kWidth, internal::NegativeZero<T>());
    std::copy(a + i, a + n, rest);
    const auto [a0, a1] = internal::LoadTwo(rest);
    const auto [a2, a3] = internal::LoadTwo(rest + kWidth / 2);
    add((a0 + a1) + (a2 + a3));
  }
  return static_cast<float>(SumOfLanes<double>(low + high));
}

}  // namespace hlo::cpu
