#include "kernels/cpu/elementwise/copy_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

// Rows of up to this number of bytes are copied as two blocks, which may overlap.
constexpr int64_t kLargestBlocks = 128;

// Calls run with the size of a block as a constant: two blocks cover `byte_count` bytes. Returns false if no
// size fits.
template <class Run>
[[gnu::always_inline]] inline bool WithBlock(int64_t byte_count, const Run& run) {
  if (byte_count > kLargestBlocks) return false;
  const auto fits = [&](int64_t size) { return byte_count >= size && byte_count <= 2 * size; };
  if (fits(64)) return run.template operator()<64>(), true;
  if (fits(32)) return run.template operator()<32>(), true;
  if (fits(16)) return run.template operator()<16>(), true;
  if (fits(8)) return run.template operator()<8>(), true;
  if (fits(4)) return run.template operator()<4>(), true;
  return false;
}

template <int64_t kBlock>
void CopyBlocks(int64_t rows, int64_t byte_count, std::byte* to, int64_t to_row, const std::byte* from,
                int64_t from_row) {
  struct Block {
    std::byte bytes[kBlock];
  };
  const int64_t second = byte_count - kBlock;
  for (int64_t r = 0; r < rows; ++r, to += to_row, from += from_row) {
    Block a, b;
    std::memcpy(&a, from, kBlock);
    std::memcpy(&b, from + second, kBlock);
    std::memcpy(to, &a, kBlock);
    std::memcpy(to + second, &b, kBlock);
  }
}

template <class T, int64_t kBlock>
void SplatBlocks(const RowStrides& from, T* to, const T* array) {
  constexpr int64_t kCount = std::max<int64_t>(kBlock / static_cast<int64_t>(sizeof(T)), 1);
  const int64_t second = from.length - kCount;
  for (int64_t r = 0; r < from.rows; ++r, to += from.length, array += from.row_stride) {
    std::array<T, kCount> block;
    block.fill(*array);
    std::memcpy(to, &block, sizeof block);
    std::memcpy(to + second, &block, sizeof block);
  }
}

#if defined(HLO_AVX512_VECTORS)
constexpr int64_t kVectorWords = 16;

// Writes each of the words `length` times, up to a number of words that is a multiple of a vector's. Returns
// that number.
int64_t RepeatWords(int64_t count, int64_t length, const uint32_t* from, uint32_t* to) {
  __m512i sources[kVectorWords];  // The words that each vector of the result takes from one of the operand.
  alignas(64) int32_t source[kVectorWords];
  int32_t word = 0;
  int64_t repeats = 0;
  for (int64_t i = 0; i < length * kVectorWords; ++i) {
    source[i % kVectorWords] = word;
    if (++repeats == length) ++word, repeats = 0;
    if (i % kVectorWords == kVectorWords - 1) sources[i / kVectorWords] = _mm512_load_si512(source);
  }
  int64_t done = 0;
  for (; done + kVectorWords <= count; done += kVectorWords) {
    const __m512i words = _mm512_loadu_si512(from + done);
    for (int64_t v = 0; v < length; ++v, to += kVectorWords)
      _mm512_storeu_si512(to, _mm512_permutexvar_epi32(sources[v], words));
  }
  return done;
}
#endif

// Splats the first rows, which are elements that are next to each other. Returns the number of rows.
template <class T>
int64_t SplatShortRows([[maybe_unused]] const RowStrides& from, [[maybe_unused]] T* to,
                       [[maybe_unused]] const T* array) {
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4) {
    constexpr int64_t kLeast = 4 * kVectorWords;
    if (from.row_stride == 1 && from.length <= kVectorWords && from.rows >= kLeast)
      return RepeatWords(from.rows, from.length, reinterpret_cast<const uint32_t*>(array),
                         reinterpret_cast<uint32_t*>(to));
  }
#endif
  return 0;
}

// Transposes 4 by 4 words: column c begins at from + c * stride, and row r of the result at to + r * length.
[[gnu::always_inline]] inline void TransposeWords(const uint32_t* from, int64_t stride, uint32_t* to,
                                                  int64_t length) {
  typename VectorOf<uint32_t, 16>::type words[4];
  for (int k = 0; k < 4; ++k) std::memcpy(&words[k], from + k * stride, sizeof words[k]);
  Transpose<uint32_t, 4>(words);
  for (int k = 0; k < 4; ++k) std::memcpy(to + k * length, &words[k], sizeof words[k]);
}

template <class T>
[[gnu::always_inline]] inline void ReadRowsAs(RowStrides from, const T* array, T* to) {
  constexpr int64_t kWidth = sizeof(T);
  if (from.row_stride == from.length * from.stride) from = {1, from.rows * from.length, 0, from.stride};
  if (from.stride == 0) {
    const int64_t done = SplatShortRows<T>(from, to, array);
    from.rows -= done;
    array += done * from.row_stride;
    to += done * from.length;
  }
  const auto [rows, length, row_stride, stride] = from;
  const int64_t byte_count = length * kWidth;
  if (stride == 1) {
    if (CopyShortRows(rows, byte_count, array, row_stride * kWidth, to, byte_count)) return;
    for (int64_t r = 0; r < rows; ++r, to += length, array += row_stride) std::memcpy(to, array, byte_count);
    return;
  }
  if (stride == 0) {
    if (kWidth < 16 && WithBlock(byte_count, [&]<int64_t kBlock>() {
          if constexpr (kBlock >= kWidth) SplatBlocks<T, kBlock>(from, to, array);
        }))
      return;
    for (int64_t r = 0; r < rows; ++r, to += length, array += row_stride) std::fill_n(to, length, *array);
    return;
  }
  int64_t r = 0;
  if (row_stride == 1) {
    // Each cache line of the array holds elements of several rows.
    constexpr int64_t kRows = 4;
    for (; r + kRows <= rows; r += kRows, to += kRows * length, array += kRows) {
      int64_t i = 0;
      if constexpr (std::is_same_v<T, uint32_t>) {
        for (; i + kRows <= length; i += kRows) TransposeWords(array + i * stride, stride, to + i, length);
      }
      for (; i < length; ++i) {
        const T* column = array + i * stride;
        for (int64_t k = 0; k < kRows; ++k) to[k * length + i] = column[k];
      }
    }
  }
  for (; r < rows; ++r, to += length, array += row_stride) {
    for (int64_t i = 0; i < length; ++i) to[i] = array[i * stride];
  }
}

template <class T>
void WriteRowsAs(const RowStrides& to, T* array, const T* from) {
  constexpr int64_t kWidth = sizeof(T);
  const auto [rows, length, row_stride, stride] = to;
  const int64_t byte_count = length * kWidth;
  if (stride == 1) {
    if (CopyShortRows(rows, byte_count, from, byte_count, array, row_stride * kWidth)) return;
    for (int64_t r = 0; r < rows; ++r, from += length, array += row_stride)
      std::memcpy(array, from, byte_count);
    return;
  }
  for (int64_t r = 0; r < rows; ++r, from += length, array += row_stride) {
    for (int64_t i = 0; i < length; ++i) array[i * stride] = from[i];
  }
}

}  // namespace

bool CopyShortRows(int64_t rows, int64_t byte_count, const void* from, int64_t from_row, void* to,
                   int64_t to_row) {
  return WithBlock(byte_count, [&]<int64_t kBlock>() {
    CopyBlocks<kBlock>(rows, byte_count, static_cast<std::byte*>(to), to_row,
                       static_cast<const std::byte*>(from), from_row);
  });
}

void ReadRows(const RowStrides& from, int64_t width, const void* array, void* contiguous) {
  DispatchWidth(width, [&]<class T>() {
    ReadRowsAs<T>(from, static_cast<const T*>(array), static_cast<T*>(contiguous));
  });
}

void WriteRows(const RowStrides& to, int64_t width, void* array, const void* contiguous) {
  DispatchWidth(width, [&]<class T>() {
    WriteRowsAs<T>(to, static_cast<T*>(array), static_cast<const T*>(contiguous));
  });
}

}  // namespace hlo::cpu
