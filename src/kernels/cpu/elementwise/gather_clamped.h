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

}  // namespace hlo::cpu
