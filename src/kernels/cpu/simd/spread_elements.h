#pragma once
// This file repeats a few elements, in order or one by one, as broadcasts along short dimensions do.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// The bytes of the longest patterns, and the most copies of an element, for which vectors are used.
inline constexpr int64_t kMaxPatternBytes = 32, kMaxCopies = 8;

#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
namespace internal {

// The words of vector v of the result, as indices of the words of the source, for each number of words.
using SpreadTable = std::array<std::array<std::array<int32_t, 8>, 8>, 9>;
template <class IndexOf>
constexpr SpreadTable MakeSpreadTable(IndexOf&& index_of) {
  SpreadTable table{};
  for (int32_t words = 1; words <= 8; ++words) {
    for (int32_t v = 0; v < words; ++v) {
      for (int32_t j = 0; j < 8; ++j) table[words][v][j] = index_of(words, v * 8 + j);
    }
  }
  return table;
}
alignas(32) inline constexpr SpreadTable kRepeatedWords = MakeSpreadTable([](int32_t period, int32_t word) {
  return word % period;
});
alignas(32) inline constexpr SpreadTable kSpreadWords = MakeSpreadTable([](int32_t copies, int32_t word) {
  return word / copies;
});
alignas(32) inline constexpr SpreadTable kSpreadPairs = MakeSpreadTable([](int32_t copies, int32_t word) {
  return word / 2 / copies * 2 + word % 2;
});

[[gnu::always_inline]] inline __m256i PermuteWords(__m256i words, const std::array<int32_t, 8>& index) {
  return _mm256_permutevar8x32_epi32(words,
                                     _mm256_load_si256(reinterpret_cast<const __m256i*>(index.data())));
}
// Loads and stores the first n words, n > 0, or a vector if there are more.
[[gnu::always_inline]] inline __m256i LoadWords(const void* from, int64_t n) {
  return _mm256_maskload_epi32(static_cast<const int*>(from),
                               FirstLanes(static_cast<int>(std::min<int64_t>(n, 8))));
}
[[gnu::always_inline]] inline void StoreWords(int32_t* to, int64_t n, __m256i words) {
  if (n >= 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words);
  else
    _mm256_maskstore_epi32(to, FirstLanes(static_cast<int>(n)), words);
}

}  // namespace internal
#endif

// Copies n elements, n > 0, which do not overlap. Short copies take less time than by a call.
template <class T>
void CopyElements(const T* from, int64_t n, T* to) {
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  constexpr int64_t kMostInline = 64;
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    if (n <= kMostInline) {
      const auto* words = reinterpret_cast<const int32_t*>(from);
      auto* out = reinterpret_cast<int32_t*>(to);
      for (int64_t left = n * static_cast<int64_t>(sizeof(T) / 4); left > 0; left -= 8, words += 8, out += 8)
        internal::StoreWords(out, left, internal::LoadWords(words, left));
      return;
    }
  }
#endif
  std::copy_n(from, n, to);
}

// Sets to[i] = from[i % period] for i in [0, n), n > 0. The arrays do not overlap.
template <class T>
void RepeatElements(const T* from, int64_t period, int64_t n, T* to) {
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int64_t kWords = sizeof(T) / 4;
    if (period * static_cast<int64_t>(sizeof(T)) <= kMaxPatternBytes) {
      const int64_t words = period * kWords;
      const __m256i pattern = internal::LoadWords(from, words);
      auto* out = reinterpret_cast<int32_t*>(to);
      int64_t v = 0;
      for (int64_t left = n * kWords; left > 0; left -= 8, out += 8) {
        internal::StoreWords(out, left, internal::PermuteWords(pattern, internal::kRepeatedWords[words][v]));
        v = v + 1 == words ? 0 : v + 1;
      }
      return;
    }
  }
#endif
  for (int64_t i = 0; i < n; i += period) CopyElements(from, std::min(period, n - i), to + i);
}

// Sets to[i] = from[i / copies] for i in [0, n), n > 0. The arrays do not overlap.
template <class T>
void SpreadElements(const T* from, int64_t copies, int64_t n, T* to) {
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int64_t kWords = sizeof(T) / 4;
    if (copies <= kMaxCopies) {
      const auto& table = kWords == 1 ? internal::kSpreadWords[copies] : internal::kSpreadPairs[copies];
      const auto* words = reinterpret_cast<const int32_t*>(from);
      auto* out = reinterpret_cast<int32_t*>(to);
      int64_t left_words = (n + copies - 1) / copies * kWords;
      for (int64_t left = n * kWords; left > 0; words += 8, left_words -= 8) {
        const __m256i source = internal::LoadWords(words, left_words);
        for (int64_t v = 0; v < copies && left > 0; ++v, left -= 8, out += 8)
          internal::StoreWords(out, left, internal::PermuteWords(source, table[v]));
      }
      return;
    }
  }
#endif
  for (int64_t i = 0; i < n; i += copies) std::fill_n(to + i, std::min(copies, n - i), from[i / copies]);
}

}  // namespace hlo::cpu
