#pragma once
// This file transposes short rows of elements of one or two bytes.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// The rows and the columns of a block of TransposeNarrow.
template <class T>
inline constexpr int64_t kNarrowRows = 16 / sizeof(T);
template <class T>
inline constexpr int64_t kNarrowColumns = kLanes<T>;

namespace internal {

// Interleave the elements of the lower, or of the upper, halves of each 16 bytes.
template <class T, int kHalf, size_t... kLane>
[[gnu::always_inline]] inline Vector<T> Interleaved(Vector<T> a, Vector<T> b, std::index_sequence<kLane...>) {
  constexpr size_t n = sizeof...(kLane), kRow = kNarrowRows<T>;
  return __builtin_shufflevector(
      a, b, static_cast<int>(kLane / kRow * kRow + kHalf * kRow / 2 + kLane % kRow / 2 + kLane % 2 * n)...);
}

// Transposes the squares in each 16 bytes of the vectors.
template <class T, int kStage = 1>
[[gnu::always_inline]] inline void TransposeSquares(Vector<T>* v) {
  constexpr int kSide = kNarrowRows<T>;
  if constexpr (kStage < kSide) {
    Vector<T> next[kSide];
#pragma GCC unroll 8
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = Interleaved<T, 0>(v[i], v[i + kSide / 2], std::make_index_sequence<kLanes<T>>());
      next[2 * i + 1] = Interleaved<T, 1>(v[i], v[i + kSide / 2], std::make_index_sequence<kLanes<T>>());
    }
    TransposeSquares<T, 2 * kStage>(next);
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) v[i] = next[i];
  }
}

// Loads 16 bytes of kVectorBytes / 16 columns, which are `distance` elements apart.
template <class T>
[[gnu::always_inline]] inline Vector<T> LoadColumns(const T* from, int64_t distance) {
  const auto* at = reinterpret_cast<const std::byte*>(from);
  distance *= sizeof(T);
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  const auto load = [&](int64_t k) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + k * distance));
  };
#endif
#if defined(HLO_AVX512_VECTORS)
  __m512i v = _mm512_castsi128_si512(load(0));
  v = _mm512_inserti32x4(v, load(1), 1);
  v = _mm512_inserti32x4(v, load(2), 2);
  return BitsOf<Vector<T>>(_mm512_inserti32x4(v, load(3), 3));
#elif defined(HLO_AVX2_VECTORS)
  return BitsOf<Vector<T>>(_mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(1), 1));
#else
  Vector<T> v;
  for (int k = 0; k < kVectorBytes / 16; ++k)
    std::memcpy(reinterpret_cast<std::byte*>(&v) + 16 * k, at + k * distance, 16);
  return v;
#endif
}

}  // namespace internal

// Sets to[i * to_stride + k] = from[i + k * from_stride] for at most kNarrowRows rows and kNarrowColumns
// columns. The columns before `readable` have kNarrowRows elements in memory.
template <class T>
void TransposeNarrow(int64_t rows, int64_t columns, int64_t readable, T* to, int64_t to_stride, const T* from,
                     int64_t from_stride) {
  constexpr int64_t kRows = kNarrowRows<T>, kColumns = kNarrowColumns<T>;
  Vector<T> v[kRows];
  if (columns == kColumns && readable >= kColumns) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < kRows; ++k)
      v[k] = internal::LoadColumns(from + k * from_stride, kRows * from_stride);
  } else {
    alignas(kVectorBytes) T block[kColumns * kRows] = {};
    for (int64_t k = 0; k < columns; ++k)
      std::memcpy(block + k * kRows, from + k * from_stride, (k < readable ? kRows : rows) * sizeof(T));
    for (int64_t k = 0; k < kRows; ++k) v[k] = internal::LoadColumns(block + k * kRows, kRows * kRows);
  }
  internal::TransposeSquares<T>(v);
  if (columns == kColumns) {
#pragma GCC unroll 16
    for (int64_t r = 0; r < kRows; ++r) {
      if (r < rows) StoreVector(to + r * to_stride, v[r]);
    }
  } else {
    for (int64_t r = 0; r < rows; ++r)
      CopyFew(reinterpret_cast<std::byte*>(to + r * to_stride), reinterpret_cast<const std::byte*>(&v[r]),
              columns * static_cast<int64_t>(sizeof(T)));
  }
}

}  // namespace hlo::cpu
