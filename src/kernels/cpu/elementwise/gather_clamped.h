#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

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

// The same for positions of an integer type that is known at run time, from element `first` on.
template <class T>
void GatherClamped(const T* from, ElementType type, const void* positions, int64_t first, int64_t n,
                   int64_t most, T* to) {
  DispatchComputeType(ComputeTypeOf(type), [&]<class Position>() {
    if constexpr (std::is_integral_v<Position>)
      GatherClamped(from, static_cast<const Position*>(positions) + first, n, most, to);
  });
}

#if defined(HLO_AVX512_VECTORS)
// Positions along one dimension of an array.
template <class Position>
struct ClampedPositions {
  const Position* positions;
  int64_t most, stride;
};

// Sets to[i] = from[sum of clamp(positions[i], 0, most) * stride over two dimensions], for elements and
// positions of 32 bits. The offsets fit 31 bits.
template <class T, class Position>
void GatherClampedPairs(const T* from, const ClampedPositions<Position> (&starts)[2], int64_t n, T* to) {
  static_assert(sizeof(T) == 4 && sizeof(Position) == 4);
  const auto offsets = [&](const ClampedPositions<Position>& start, int64_t i, __mmask16 lanes) {
    const __m512i limit = _mm512_set1_epi32(static_cast<int32_t>(start.most));
    __m512i at = _mm512_maskz_loadu_epi32(lanes, start.positions + i);
    if constexpr (std::is_signed_v<Position>)
      at = _mm512_min_epi32(_mm512_max_epi32(at, _mm512_setzero_si512()), limit);
    else
      at = _mm512_min_epu32(at, limit);
    return start.stride == 1 ? at
                             : _mm512_mullo_epi32(at, _mm512_set1_epi32(static_cast<int32_t>(start.stride)));
  };
  for (int64_t i = 0; i < n; i += 16) {
    const auto lanes = static_cast<__mmask16>(n - i < 16 ? (1U << (n - i)) - 1 : 0xffff);
    const __m512i at = _mm512_add_epi32(offsets(starts[0], i, lanes), offsets(starts[1], i, lanes));
    const __m512i elements = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, at, from, sizeof(T));
    _mm512_mask_storeu_epi32(to + i, lanes, elements);
  }
}
#endif

}  // namespace hlo::cpu
