#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Sets to[i] = from[indices[i]], for indices of 32 or 64 bits.
template <class T, class Index>
void GatherElements(const T* from, const Index* indices, int64_t n, T* to) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4) {
    constexpr int64_t kCount = 64 / sizeof(Index);
    for (; i + kCount <= n; i += kCount) {
      const __m512i at = _mm512_loadu_si512(indices + i);
      if constexpr (sizeof(Index) == 4)
        _mm512_storeu_si512(to + i, _mm512_i32gather_epi32(at, from, sizeof(T)));
      else
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_i64gather_epi32(at, from, sizeof(T)));
    }
  }
#endif
  for (; i < n; ++i) to[i] = from[indices[i]];
}

// Sets to[i] = from[clamp(positions[i], 0, most)] for positions of any integer type.
template <class T, class Position>
void GatherClamped(const T* from, const Position* positions, int64_t n, int64_t most, T* to) {
  const auto last = static_cast<Position>(std::min<uint64_t>(most, std::numeric_limits<Position>::max()));
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4 && sizeof(Position) == 4) {
    if (most <= std::numeric_limits<int32_t>::max()) {
      const __m512i zero = _mm512_setzero_si512(), limit = _mm512_set1_epi32(static_cast<int32_t>(last));
      for (; i + 16 <= n; i += 16) {
        __m512i at = _mm512_loadu_si512(positions + i);
        if constexpr (std::is_signed_v<Position>)
          at = _mm512_min_epi32(_mm512_max_epi32(at, zero), limit);
        else
          at = _mm512_min_epu32(at, limit);
        _mm512_storeu_si512(to + i, _mm512_i32gather_epi32(at, from, sizeof(T)));
      }
    }
  }
#endif
  for (; i < n; ++i) to[i] = from[std::clamp<Position>(positions[i], 0, last)];
}

}  // namespace hlo::cpu
