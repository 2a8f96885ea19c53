#pragma once
// This file copies elements at equal distances by permutations of vectors. The functions copy as many
// elements as fill vectors and return their number; the caller copies the others.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// The largest distance of elements that are stored by masked vectors.
inline constexpr int64_t kMostApart = 8;

// True if elements are collected from vectors. Loads of vectors for elements that are farther apart cross
// more lines of the cache than loads of elements.
constexpr bool CollectsApart(int64_t apart, int64_t width) {
  return apart >= 2 && apart <= kMostApart && apart * width <= 24;
}

namespace internal {

// True if one instruction permutes all elements of an AVX-512 vector.
template <class T>
inline constexpr bool kPermutesLanes =
#if defined(HLO_AVX512_VECTORS) && defined(__AVX512VBMI__)
    sizeof(T) <= 8;
#elif defined(HLO_AVX512_VECTORS)
    sizeof(T) >= 2 && sizeof(T) <= 8;
#else
    false;
#endif

#if defined(HLO_AVX512_VECTORS)
// The lanes of kApart consecutive vectors in which the elements of one vector are if they are kApart apart.
template <class T, int64_t kApart>
struct ApartLanes {
  static constexpr int64_t kCount = 64 / sizeof(T);
  alignas(64) T lanes[kCount] = {};            // The lane of each element, in one of the vectors.
  alignas(64) T sources[kApart][kCount] = {};  // The element in each lane of a vector, if there is one.
  uint64_t elements[kApart] = {};              // The elements that are in a vector, as bits.
  uint64_t masks[kApart] = {};                 // The lanes of a vector that have elements, as bits.
  constexpr ApartLanes() {
    for (int64_t k = 0; k < kCount; ++k) {
      const int64_t vector = k * kApart / kCount, lane = k * kApart % kCount;
      lanes[k] = static_cast<T>(lane);
      sources[vector][lane] = static_cast<T>(k);
      elements[vector] |= uint64_t{1} << k;
      masks[vector] |= uint64_t{1} << lane;
    }
  }
};

// Sets the elements of `to` in the mask to those of `from` at these lanes.
template <class T>
[[gnu::always_inline]] inline __m512i PermuteInto(__m512i to, uint64_t mask, __m512i lanes, __m512i from) {
  if constexpr (sizeof(T) == 2) {
    return _mm512_mask_permutexvar_epi16(to, static_cast<__mmask32>(mask), lanes, from);
  } else if constexpr (sizeof(T) == 4) {
    return _mm512_mask_permutexvar_epi32(to, static_cast<__mmask16>(mask), lanes, from);
  } else if constexpr (sizeof(T) == 8) {
    return _mm512_mask_permutexvar_epi64(to, static_cast<__mmask8>(mask), lanes, from);
  } else {
#if defined(__AVX512VBMI__)
    return _mm512_mask_permutexvar_epi8(to, mask, lanes, from);
#endif
  }
}

// Stores the elements of `from` at these lanes if they are in the mask.
template <class T>
[[gnu::always_inline]] inline void StorePermuted(T* to, uint64_t mask, __m512i lanes, __m512i from) {
  if constexpr (sizeof(T) == 2) {
    _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask), _mm512_permutexvar_epi16(lanes, from));
  } else if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), _mm512_permutexvar_epi32(lanes, from));
  } else if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), _mm512_permutexvar_epi64(lanes, from));
  } else {
#if defined(__AVX512VBMI__)
    _mm512_mask_storeu_epi8(to, mask, _mm512_permutexvar_epi8(lanes, from));
#endif
  }
}

// Copies elements that are kApart apart. The elements up to the next one exist, so that whole vectors may be
// loaded.
template <class T, int64_t kApart>
int64_t CollectByLanes(int64_t n, const T* from, T* to) {
  static constexpr ApartLanes<T, kApart> kLanesOfVectors;
  constexpr int64_t kCount = ApartLanes<T, kApart>::kCount;
  const __m512i lanes = _mm512_load_si512(kLanesOfVectors.lanes);
  int64_t i = 0;
  for (; i + kCount < n; i += kCount, from += kCount * kApart) {
    __m512i collected = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int64_t v = 0; v < kApart; ++v)
      collected = PermuteInto<T>(collected, kLanesOfVectors.elements[v], lanes,
                                 _mm512_loadu_si512(from + v * kCount));
    _mm512_storeu_si512(to + i, collected);
  }
  return i;
}

// Copies elements to positions that are kApart apart by masked stores of vectors.
template <class T, int64_t kApart>
int64_t SpreadByLanes(int64_t n, const T* from, T* to) {
  static constexpr ApartLanes<T, kApart> kLanesOfVectors;
  constexpr int64_t kCount = ApartLanes<T, kApart>::kCount;
  int64_t i = 0;
  for (; i + kCount <= n; i += kCount, to += kCount * kApart) {
    const __m512i elements = _mm512_loadu_si512(from + i);
#pragma GCC unroll 8
    for (int64_t v = 0; v < kApart; ++v)
      StorePermuted(to + v * kCount, kLanesOfVectors.masks[v], _mm512_load_si512(kLanesOfVectors.sources[v]),
                    elements);
  }
  return i;
}
#endif

// True if shuffles of the bytes of short vectors collect elements faster than loads of each.
template <class T, int64_t kApart>
inline constexpr bool kShufflesBytes =
#if defined(__SSSE3__)
    !kPermutesLanes<T> && sizeof(T) <= 2 && kApart * sizeof(T) <= 8;
#else
    false;
#endif

#if defined(__SSSE3__)
// The bytes of kApart consecutive vectors that are those of the elements of one vector, or of none.
template <class T, int64_t kApart>
struct ApartBytes {
  static constexpr int64_t kWidth = sizeof(T);
  alignas(16) int8_t bytes[kApart][16];
  constexpr ApartBytes() : bytes() {
    for (int64_t v = 0; v < kApart; ++v) {
      for (int64_t b = 0; b < 16; ++b) {
        const int64_t source = b / kWidth * kApart * kWidth + b % kWidth;
        bytes[v][b] = source / 16 == v ? static_cast<int8_t>(source % 16) : int8_t{-1};
      }
    }
  }
};

// As CollectByLanes.
template <class T, int64_t kApart>
int64_t CollectByBytes(int64_t n, const T* from, T* to) {
  static constexpr ApartBytes<T, kApart> kBytes;
  constexpr int64_t kCount = 16 / sizeof(T);
  int64_t i = 0;
  for (; i + kCount < n; i += kCount, from += kCount * kApart) {
    __m128i collected = _mm_setzero_si128();
#pragma GCC unroll 8
    for (int64_t v = 0; v < kApart; ++v) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + v * kCount));
      const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(kBytes.bytes[v]));
      collected = _mm_or_si128(collected, _mm_shuffle_epi8(part, bytes));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), collected);
  }
  return i;
}
#endif

template <class T>
using CopyApartFn = int64_t (*)(int64_t, const T*, T*);

template <class T, bool kTo, int64_t kApart>
constexpr CopyApartFn<T> CopyApart() {
  if constexpr (kTo ? kApart < 2 : !CollectsApart(kApart, sizeof(T))) {
    return nullptr;
#if defined(HLO_AVX512_VECTORS)
  } else if constexpr (kPermutesLanes<T>) {
    return kTo ? &SpreadByLanes<T, kApart> : &CollectByLanes<T, kApart>;
#endif
#if defined(__SSSE3__)
  } else if constexpr (!kTo && kShufflesBytes<T, kApart>) {
    return &CollectByBytes<T, kApart>;
#endif
  } else {
    return nullptr;
  }
}

// The functions above by distance, or nullptr.
template <class T, bool kTo, size_t... kApart>
constexpr std::array<CopyApartFn<T>, sizeof...(kApart)> CopiesApart(std::index_sequence<kApart...>) {
  return {CopyApart<T, kTo, static_cast<int64_t>(kApart)>()...};
}

template <class V, size_t... kLane>
[[gnu::always_inline]] inline V Reversed(V v, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(sizeof...(kLane) - 1 - kLane)...);
}

}  // namespace internal

// Copies elements from, or to, positions that are `apart` apart if that is fast. Returns their number.
template <class T, bool kTo>
int64_t CopyByVectors(int64_t n, const T* from, int64_t apart, T* to) {
  static constexpr auto kCopies = internal::CopiesApart<T, kTo>(std::make_index_sequence<kMostApart + 1>());
  const bool is_known = apart >= 2 && apart <= kMostApart && kCopies[apart] != nullptr;
  return is_known ? kCopies[apart](n, from, to) : 0;
}

// Copies n elements that precede each other: to[i] = from[-i].
template <class T>
void CopyReversed(int64_t n, const T* from, T* to) {
  int64_t i = 0;
  if constexpr (sizeof(T) <= 8) {
    constexpr int64_t kCount = kLanes<T>;
    for (; i + kCount <= n; i += kCount)
      StoreVector(to + i, internal::Reversed(LoadVector(from - i - (kCount - 1)),
                                             std::make_index_sequence<kCount>()));
  }
  for (from -= i; i < n; ++i, --from) to[i] = *from;
}

}  // namespace hlo::cpu
