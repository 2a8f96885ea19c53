#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/clamped_positions.h"
#include "kernels/cpu/simd/gather_elements.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/small_table.h"

namespace hlo::cpu {

// Sets to[i] = from[clamp(positions[i], 0, most)] for positions of any integer type.
template <class T, class Position>
void GatherClamped(const T* from, const Position* positions, int64_t n, int64_t most, T* to) {
  if (LookUpClamped(from, positions, n, most, to)) return;
  const auto last = static_cast<Position>(std::min<uint64_t>(most, std::numeric_limits<Position>::max()));
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) <= 8) {
    if (most <= kLargestIndex32 && internal::IsAligned(from)) {
      const ClampedPositions<Position> start{positions, 1, most, 1};
      for (; i < n; i += 16) {
        const __mmask16 lanes = internal::FirstOf(n - i);
        internal::GatherVector(from, internal::LoadClamped(start, i, lanes), lanes, to + i);
      }
    }
  }
#elif defined(HLO_AVX2_VECTORS)
  if constexpr (sizeof(T) == 4 && sizeof(Position) == 4) {
    if (most <= std::numeric_limits<int32_t>::max()) {
      const __m256i zero = _mm256_setzero_si256(), limit = _mm256_set1_epi32(static_cast<int32_t>(last));
      for (; i + 8 <= n; i += 8) {
        __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(positions + i));
        if constexpr (std::is_signed_v<Position>)
          at = _mm256_min_epi32(_mm256_max_epi32(at, zero), limit);
        else
          at = _mm256_min_epu32(at, limit);
        // Single loads are faster than the instruction for gathers on some processors.
        alignas(32) int32_t clamped[8];
        _mm256_store_si256(reinterpret_cast<__m256i*>(clamped), at);
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) to[i + k] = from[clamped[k]];
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
// Adds clamp(positions[i], 0, most) * stride to each of n offsets, which fit 31 bits; so do the elements of
// the array of positions. There is room for n + 15 offsets.
template <class Position>
void AddClamped(const ClampedPositions<Position>& start, int64_t n, int32_t* offsets) {
  static_assert(sizeof(Position) == 4 || sizeof(Position) == 8);
  const __m512i stride = _mm512_set1_epi32(static_cast<int32_t>(start.stride));
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = internal::FirstOf(n - i);
    const __m512i at = _mm512_mullo_epi32(internal::LoadClamped(start, i, lanes), stride);
    _mm512_storeu_si512(offsets + i, _mm512_add_epi32(_mm512_loadu_si512(offsets + i), at));
  }
}
#endif

}  // namespace hlo::cpu
