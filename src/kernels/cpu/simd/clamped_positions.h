#pragma once
// Loads of indices that are clamped to an array's bounds.

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/simd/simd.h"

#if defined(HLO_AVX512_VECTORS)
namespace hlo::cpu {

// Indices along one dimension of an array; `change` is the distance of neighbours in memory.
template <class Position>
struct ClampedPositions {
  const Position* positions;
  int64_t change, most, stride;
};

namespace internal {

// Returns integers of 1 or 2 bytes as integers of 4.
template <class T>
[[gnu::always_inline]] inline __m512i LoadWidened(const T* from, __mmask16 lanes) {
  if constexpr (sizeof(T) == 1) {
    const __m128i bytes = _mm_maskz_loadu_epi8(lanes, from);
    return std::is_signed_v<T> ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
  } else {
    const __m256i words = _mm256_maskz_loadu_epi16(lanes, from);
    return std::is_signed_v<T> ? _mm512_cvtepi16_epi32(words) : _mm512_cvtepu16_epi32(words);
  }
}

// Returns 16 clamped positions from position `i` on, or those of the lanes. Positions of 1 or 2 bytes must be
// neighbours in memory.
template <class Position>
[[gnu::always_inline]] inline __m512i LoadClamped(const ClampedPositions<Position>& start, int64_t i,
                                                  __mmask16 lanes) {
  const Position* from = start.positions + i * start.change;
  const auto change = static_cast<int32_t>(start.change);
  if constexpr (sizeof(Position) <= 4) {
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i limit = _mm512_set1_epi32(static_cast<int32_t>(start.most));
    __m512i at;
    if constexpr (sizeof(Position) < 4) {
      at = LoadWidened(from, lanes);
    } else {
      at = change == 1
               ? _mm512_maskz_loadu_epi32(lanes, from)
               : _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes,
                                             _mm512_mullo_epi32(numbers, _mm512_set1_epi32(change)), from, 4);
    }
    if constexpr (std::is_signed_v<Position>) at = _mm512_max_epi32(at, _mm512_setzero_si512());
    return _mm512_min_epu32(at, limit);
  } else {
    const __m512i limit = _mm512_set1_epi64(start.most);
    const auto half = [&](const Position* first, __mmask8 of) {
      const __m256i numbers =
          _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(change));
      __m512i at = change == 1 ? _mm512_maskz_loadu_epi64(of, first)
                               : _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), of, numbers, first, 8);
      if constexpr (std::is_signed_v<Position>) at = _mm512_max_epi64(at, _mm512_setzero_si512());
      return _mm512_cvtepi64_epi32(_mm512_min_epu64(at, limit));
    };
    const __m256i low = half(from, static_cast<__mmask8>(lanes)),
                  high = half(from + 8 * start.change, static_cast<__mmask8>(lanes >> 8));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
}

}  // namespace internal

}  // namespace hlo::cpu
#endif
