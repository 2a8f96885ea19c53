#pragma once

#include <cstdint>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Sets to[i] = from[indices[i]].
template <class T>
void GatherElements(const T* from, const int64_t* indices, int64_t n, T* to) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4) {
    constexpr int64_t kCount = 8;
    for (; i + kCount <= n; i += kCount) {
      const __m256i elements = _mm512_i64gather_epi32(_mm512_loadu_si512(indices + i), from, sizeof(T));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), elements);
    }
  }
#endif
  for (; i < n; ++i) to[i] = from[indices[i]];
}

// Does the same with places of 32 bits.
inline void GatherWords(const uint32_t* from, const int32_t* places, int64_t n, uint32_t* to) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  constexpr int64_t kCount = 16;
  for (; i + kCount <= n; i += kCount)
    _mm512_storeu_si512(to + i, _mm512_i32gather_epi32(_mm512_loadu_si512(places + i), from, 4));
#endif
  for (; i < n; ++i) to[i] = from[places[i]];
}

}  // namespace hlo::cpu
