#pragma once
// Elements of a small array at many positions. The array is held in registers, which are permuted: that takes
// a fraction of the time of one load per element.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/simd/clamped_positions.h"
#include "kernels/cpu/simd/gather_elements.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

#if defined(HLO_AVX512_VECTORS)
namespace internal {

// An array of up to kRegisters * 16 elements of at most 4 bytes, or half as many of 8 bytes.
template <class T, int kRegisters>
class SmallTable {
 public:
  static constexpr int64_t kLanes = sizeof(T) == 8 ? 8 : 16;

  SmallTable(const T* from, int64_t count) {
    for (int r = 0; r < kRegisters; ++r) {
      const __mmask16 lanes = FirstOf(std::clamp<int64_t>(count - r * kLanes, 0, kLanes));
      const T* first = lanes == 0 ? from : from + r * kLanes;
      if constexpr (sizeof(T) == 8) {
        parts_[r] = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes), first);
      } else if constexpr (sizeof(T) == 4) {
        parts_[r] = _mm512_maskz_loadu_epi32(lanes, first);
      } else {
        parts_[r] = LoadWidened(first, lanes);
      }
    }
  }

  // Stores the elements at 16 positions within the array, for those in the mask.
  [[gnu::always_inline]] void LookUp(__m512i at, __mmask16 lanes, T* to) const {
    if constexpr (sizeof(T) == 8) {
      const auto half = [&](__m256i positions, __mmask8 of, T* first) {
        _mm512_mask_storeu_epi64(first, of, Find(_mm512_cvtepu32_epi64(positions)));
      };
      half(_mm512_castsi512_si256(at), static_cast<__mmask8>(lanes), to);
      half(_mm512_extracti64x4_epi64(at, 1), static_cast<__mmask8>(lanes >> 8), to + 8);
    } else if constexpr (sizeof(T) == 4) {
      _mm512_mask_storeu_epi32(to, lanes, Find(at));
    } else if constexpr (sizeof(T) == 2) {
      _mm512_mask_cvtepi32_storeu_epi16(to, lanes, Find(at));
    } else {
      _mm512_mask_cvtepi32_storeu_epi8(to, lanes, Find(at));
    }
  }

 private:
  [[gnu::always_inline]] static __m512i FindInTwo(__m512i at, __m512i a, __m512i b) {
    return sizeof(T) == 8 ? _mm512_permutex2var_epi64(a, at, b) : _mm512_permutex2var_epi32(a, at, b);
  }
  [[gnu::always_inline]] __m512i Find(__m512i at) const {
    if constexpr (kRegisters == 1) {
      return sizeof(T) == 8 ? _mm512_permutexvar_epi64(at, parts_[0])
                            : _mm512_permutexvar_epi32(at, parts_[0]);
    } else if constexpr (kRegisters == 2) {
      return FindInTwo(at, parts_[0], parts_[1]);
    } else {
      static_assert(kRegisters == 4);
      const __m512i low = FindInTwo(at, parts_[0], parts_[1]), high = FindInTwo(at, parts_[2], parts_[3]);
      if constexpr (sizeof(T) == 8) {
        return _mm512_mask_blend_epi64(_mm512_test_epi64_mask(at, _mm512_set1_epi64(2 * kLanes)), low, high);
      } else {
        return _mm512_mask_blend_epi32(_mm512_test_epi32_mask(at, _mm512_set1_epi32(2 * kLanes)), low, high);
      }
    }
  }

  __m512i parts_[kRegisters];
};

}  // namespace internal
#elif defined(HLO_AVX2_VECTORS)
namespace internal {

// An array of up to kRegisters * 8 elements of 4 bytes.
template <int kRegisters>
class SmallTable {
 public:
  static constexpr int64_t kLanes = 8;

  SmallTable(const int32_t* from, int64_t count) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int r = 0; r < kRegisters; ++r) {
      const int64_t left = std::max<int64_t>(count - r * kLanes, 0);
      const __m256i lanes = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(left)), numbers);
      parts_[r] = _mm256_maskload_epi32(left == 0 ? from : from + r * kLanes, lanes);
    }
  }

  // Returns the elements at 8 positions within the array.
  [[gnu::always_inline]] __m256i Find(__m256i at) const {
    const auto in = [&](int r) { return _mm256_permutevar8x32_epi32(parts_[r], at); };
    // Selects `b` where a bit of the position is set.
    const auto either = [&](__m256i a, __m256i b, int bit) {
      const __m256i sign = _mm256_slli_epi32(at, 31 - bit);
      return _mm256_castps_si256(
          _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(sign)));
    };
    if constexpr (kRegisters == 1) {
      return in(0);
    } else if constexpr (kRegisters == 2) {
      return either(in(0), in(1), 3);
    } else {
      static_assert(kRegisters == 4);
      return either(either(in(0), in(1), 3), either(in(2), in(3), 3), 4);
    }
  }

 private:
  __m256i parts_[kRegisters];
};

}  // namespace internal
#endif

// Calls f with the number of registers, 1, 2 or 4, that hold `count` elements. Returns false if more are
// needed.
template <class F>
bool DispatchRegisters(int64_t count, int64_t lanes, F&& f) {
  if (count <= lanes) {
    f.template operator()<1>();
  } else if (count <= 2 * lanes) {
    f.template operator()<2>();
  } else if (count <= 4 * lanes) {
    f.template operator()<4>();
  } else {
    return false;
  }
  return true;
}

// Sets to[i] = from[clamp(positions[i], 0, most)] and returns true if registers hold elements [0, most];
// otherwise returns false.
template <class T, class Position>
bool LookUpClamped(const T* from, const Position* positions, int64_t n, int64_t most, T* to) {
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) <= 8) {
    return DispatchRegisters(most + 1, internal::SmallTable<T, 1>::kLanes, [&]<int kRegisters>() {
      const internal::SmallTable<T, kRegisters> table(from, most + 1);
      for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = internal::FirstOf(n - i);
        table.LookUp(internal::LoadClamped<Position>({positions, 1, most, 1}, i, lanes), lanes, to + i);
      }
    });
  }
#elif defined(HLO_AVX2_VECTORS)
  if constexpr (sizeof(T) == 4 && sizeof(Position) == 4) {
    constexpr int64_t kAtOnce = 8;
    if (n < kAtOnce) return false;
    return DispatchRegisters(most + 1, kAtOnce, [&]<int kRegisters>() {
      const internal::SmallTable<kRegisters> table(reinterpret_cast<const int32_t*>(from), most + 1);
      const __m256i zero = _mm256_setzero_si256(), limit = _mm256_set1_epi32(static_cast<int32_t>(most));
      int64_t i = 0;
      for (; i + kAtOnce <= n; i += kAtOnce) {
        __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(positions + i));
        if constexpr (std::is_signed_v<Position>) at = _mm256_max_epi32(at, zero);
        at = _mm256_min_epu32(at, limit);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), table.Find(at));
      }
      const auto last = static_cast<Position>(most);
      for (; i < n; ++i) to[i] = from[std::clamp<Position>(positions[i], 0, last)];
    });
  }
#endif
  return false;
}

}  // namespace hlo::cpu
