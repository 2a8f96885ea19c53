#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// The largest magnitude of an index of 32 bits: the position of an element in a word is added to it.
inline constexpr int64_t kLargestIndex32 = std::numeric_limits<int32_t>::max() - 4;

// Returns true if GatherElements and GatherExisting are fast for elements of `width` bytes.
constexpr bool GathersFast(int64_t width) {
#if defined(HLO_AVX512_VECTORS)
  return width <= 8;
#else
  return width == 4;
#endif
}

#if defined(HLO_AVX512_VECTORS)
namespace internal {
template <class T>
[[gnu::always_inline]] inline bool IsAligned(const T* from) {
  return sizeof(T) > 2 || reinterpret_cast<uintptr_t>(from) % sizeof(T) == 0;
}
// Returns the mask of the first n of 16 elements, or of all if n is larger.
[[gnu::always_inline]] inline __mmask16 FirstOf(int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffff : (1 << n) - 1);
}

// Sets the elements of `to` in the mask to those of `from` at these indices.
template <class T>
[[gnu::always_inline]] inline void GatherVector(const T* from, __m512i at, __mmask16 mask, T* to) {
  if constexpr (sizeof(T) == 4) {
    const __m512i found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, at, from, 4);
    _mm512_mask_storeu_epi32(to, mask, found);
  } else if constexpr (sizeof(T) == 8) {
    const auto gather = [&](__m256i half, __mmask8 part, T* out) {
      const __m512i found = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), part, half, from, 8);
      _mm512_mask_storeu_epi64(out, part, found);
    };
    gather(_mm512_castsi512_si256(at), static_cast<__mmask8>(mask), to);
    const auto upper = static_cast<__mmask8>(mask >> 8);
    if (upper != 0) gather(_mm512_extracti64x4_epi64(at, 1), upper, to + 8);
  } else {
    // Aligned words hold the elements, so that no load crosses the end of a page.
    constexpr int kPerWord = 4 / sizeof(T);
    const int first = static_cast<int>(reinterpret_cast<uintptr_t>(from) % 4 / sizeof(T));
    const __m512i place = _mm512_add_epi32(at, _mm512_set1_epi32(first));
    const __m512i words = _mm512_mask_i32gather_epi32(
        _mm512_setzero_si512(), mask, _mm512_srai_epi32(place, kPerWord / 2), from - first, 4);
    const __m512i part = _mm512_and_si512(place, _mm512_set1_epi32(kPerWord - 1));
    const __m512i found = _mm512_srlv_epi32(words, _mm512_slli_epi32(part, 2 + sizeof(T)));
    sizeof(T) == 1 ? _mm512_mask_cvtepi32_storeu_epi8(to, mask, found)
                   : _mm512_mask_cvtepi32_storeu_epi16(to, mask, found);
  }
}
}  // namespace internal
#endif

// Sets to[i] = from[indices[i]], for indices of 32 or 64 bits.
template <class T, class Index>
void GatherElements(const T* from, const Index* indices, int64_t n, T* to) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(Index) == 4 && sizeof(T) <= 8) {
    for (const bool is_aligned = internal::IsAligned(from); is_aligned && i < n; i += 16) {
      const auto mask = internal::FirstOf(n - i);
      internal::GatherVector(from, _mm512_maskz_loadu_epi32(mask, indices + i), mask, to + i);
    }
  }
  if constexpr (sizeof(Index) == 8 && sizeof(T) == 4) {
    for (; i + 8 <= n; i += 8) {
      const __m512i at = _mm512_loadu_si512(indices + i);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_i64gather_epi32(at, from, sizeof(T)));
    }
  }
#endif
#pragma GCC unroll 8
  for (; i < n; ++i) to[i] = from[indices[i]];
}

// Sets to[i] = from[indices[i]], except where the index is `none`.
template <class T>
void GatherExisting(const T* from, const int32_t* indices, int32_t none, int64_t n, T* to) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) <= 8) {
    const __m512i nones = _mm512_set1_epi32(none);
    for (const bool is_aligned = internal::IsAligned(from); is_aligned && i < n; i += 16) {
      const auto mask = internal::FirstOf(n - i);
      const __m512i at = _mm512_maskz_loadu_epi32(mask, indices + i);
      const __mmask16 exist = _mm512_mask_cmpneq_epi32_mask(mask, at, nones);
      if (exist != 0) internal::GatherVector(from, at, exist, to + i);
    }
  }
#endif
  for (; i < n; ++i) {
    if (indices[i] != none) to[i] = from[indices[i]];
  }
}

}  // namespace hlo::cpu
