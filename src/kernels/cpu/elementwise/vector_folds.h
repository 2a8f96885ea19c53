#pragma once
// This file defines the folds of floating-point numbers on vectors: the operations, and the last steps of a
// reduction whose partial results are in vectors.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/padded_load.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu::folds {

// Operations on vectors and on scalars.
struct Sum : scalar::Add {
  static constexpr bool kAnyOrder = false;
  static constexpr double kIdentity = -0.0;
  template <class A>
  static Vector<A> Vectors(Vector<A> a, Vector<A> b) {
    return a + b;
  }
};
struct Largest : scalar::Maximum {
  static constexpr bool kAnyOrder = true;
  static constexpr double kIdentity = -HUGE_VAL;
  template <class A>
  static Vector<A> Vectors(Vector<A> a, Vector<A> b) {
    return MaximumOf<A>(a, b);
  }
};
struct Smallest : scalar::Minimum {
  static constexpr bool kAnyOrder = true;
  static constexpr double kIdentity = HUGE_VAL;
  template <class A>
  static Vector<A> Vectors(Vector<A> a, Vector<A> b) {
    return MinimumOf<A>(a, b);
  }
};

#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
#define HLO_LOADS_REST 1
// Returns the first n elements in the type of the sums, n <= kLanes<A>, and `others` in the other lanes.
template <class A, class T>
[[gnu::always_inline]] inline Vector<A> LoadRest(const T* from, int n, Vector<A> others) {
  if constexpr (std::is_same_v<T, A>) {
    return LoadFirstOr(from, n, others);
  } else {
    static_assert(std::is_same_v<T, float> && std::is_same_v<A, double>);
#if defined(HLO_AVX512_VECTORS)
    const unsigned mask = _bzhi_u32(0xff, n);
    return _mm512_mask_cvtps_pd(others, mask, _mm256_maskz_loadu_ps(mask, from));
#else
    const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3));
    const __m256d loaded = _mm256_cvtps_pd(_mm_maskload_ps(from, mask));
    return _mm256_blendv_pd(others, loaded, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask)));
#endif
  }
}

template <class F, class A, int kHalf, size_t... kLane>
[[gnu::always_inline]] inline A FoldLanes(Vector<A> v, std::index_sequence<kLane...> lanes) {
  v = F::template Vectors<A>(v, __builtin_shufflevector(v, v, static_cast<int>(kLane ^ kHalf)...));
  if constexpr (kHalf == 1)
    return v[0];
  else
    return FoldLanes<F, A, kHalf / 2>(v, lanes);
}
#endif

// Folds the rest of a row, which has less elements than the vectors, into them, and then the vectors by
// halving.
template <class F, class T, class A, int kVectors>
[[gnu::always_inline]] inline A FoldRest(const T* rest, int64_t n, Vector<A> (&v)[kVectors]) {
#if defined(HLO_LOADS_REST)
#pragma GCC unroll 8
  for (int p = 0; p < kVectors; ++p) {
    const int64_t left = n - p * kLanes<A>;
    if (left <= 0) break;
    const int lanes = static_cast<int>(std::min<int64_t>(left, kLanes<A>));
    v[p] = F::template Vectors<A>(
        v[p], LoadRest<A, T>(rest + p * kLanes<A>, lanes, Broadcast(static_cast<A>(F::kIdentity))));
  }
#pragma GCC unroll 4
  for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (int p = 0; p < half; ++p) v[p] = F::template Vectors<A>(v[p], v[p + half]);
  }
  return FoldLanes<F, A, kLanes<A> / 2>(v[0], std::make_index_sequence<kLanes<A>>());
#else
  constexpr int64_t kStep = kVectors * kLanes<A>;
  const F f;
  A partial[kStep];
  std::memcpy(partial, v, sizeof partial);
  for (int64_t k = 0; k < n; ++k) partial[k] = f(partial[k], static_cast<A>(rest[k]));
  for (int64_t half = kStep / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) partial[k] = f(partial[k], partial[half + k]);
  }
  return partial[0];
#endif
}

}  // namespace hlo::cpu::folds
