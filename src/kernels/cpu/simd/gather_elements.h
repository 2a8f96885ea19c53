#pragma once

#include <cstdint>

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

// Sets to[i] = from[indices[i]], except where the index is `none`.
template <class T>
void GatherExisting(const T* from, const int32_t* indices, int32_t none, int64_t n, T* to) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4) {
    constexpr int64_t kCount = 16;
    const __m512i nones = _mm512_set1_epi32(none);
    for (; i + kCount <= n; i += kCount) {
      const __m512i at = _mm512_loadu_si512(indices + i);
      const __mmask16 exist = _mm512_cmpneq_epi32_mask(at, nones);
      if (exist == 0) continue;
      const __m512i found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), exist, at, from, sizeof(T));
      _mm512_mask_storeu_epi32(to + i, exist, found);
    }
  }
#endif
  for (; i < n; ++i) {
    if (indices[i] != none) to[i] = from[indices[i]];
  }
}

}  // namespace hlo::cpu
