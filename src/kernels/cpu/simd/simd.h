#pragma once
// This file defines SIMD vectors of the target's width. The compiler's vector extensions do the arithmetic;
// this file adds the missing operations.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

#include "types/small_float.h"

namespace hlo::cpu {

#if defined(HLO_VECTOR_BYTES)
inline constexpr int kVectorBytes = HLO_VECTOR_BYTES;  // Tests kernels for wider vectors than the target's.
#elif defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
// AVX2 intrinsics replace operations for which the compiler generates poor code.
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(HLO_VECTOR_BYTES)
#define HLO_AVX2_VECTORS 1
#endif
#if defined(__AVX512BW__) && defined(__BMI2__) && !defined(HLO_VECTOR_BYTES)
#define HLO_AVX512_VECTORS 1
#endif
inline constexpr int kVectorRegisters = kVectorBytes == 64 ? 32 : 16;

template <class T, int kBytes = kVectorBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
// The number of elements of a vector.
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// Reinterprets the bits as another type.
template <class To, class From>
[[gnu::always_inline]] inline To BitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Prefetches one page ahead, because loops over several arrays are otherwise bound by memory latency.
[[gnu::always_inline]] inline void PrefetchAhead(const void* from) {
  __builtin_prefetch(static_cast<const char*>(from) + 4096);
}

template <class T>
[[gnu::always_inline]] inline Vector<T> LoadVector(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
[[gnu::always_inline]] inline void StoreVector(T* to, Vector<T> v) {
  std::memcpy(to, &v, sizeof v);
}
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
namespace internal {
// Returns a mask of the first n words.
[[gnu::always_inline]] inline __m256i FirstLanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
}  // namespace internal
#endif
// Load and store the first n lanes, n <= kLanes<T>, without access beyond them. T has 4 or 8 bytes, and other
// lanes are 0.
template <class T>
[[gnu::always_inline]] inline Vector<T> LoadFirst(const T* from, int n) {
#if defined(HLO_AVX512_VECTORS)
  return BitsOf<Vector<T>>(sizeof(T) == 4 ? _mm512_maskz_loadu_epi32(_bzhi_u32(0xffff, n), from)
                                          : _mm512_maskz_loadu_epi64(_bzhi_u32(0xff, n), from));
#elif defined(HLO_AVX2_VECTORS)
  const __m256i mask = internal::FirstLanes(n * static_cast<int>(sizeof(T) / 4));
  return BitsOf<Vector<T>>(_mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask));
#else
  Vector<T> v{};
  std::memcpy(&v, from, n * sizeof(T));
  return v;
#endif
}
template <class T>
[[gnu::always_inline]] inline void StoreFirst(T* to, Vector<T> v, int n) {
#if defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_epi32(to, _bzhi_u32(0xffff, n), BitsOf<__m512i>(v));
  else
    _mm512_mask_storeu_epi64(to, _bzhi_u32(0xff, n), BitsOf<__m512i>(v));
#elif defined(HLO_AVX2_VECTORS)
  const __m256i mask = internal::FirstLanes(n * static_cast<int>(sizeof(T) / 4));
  _mm256_maskstore_epi32(reinterpret_cast<int*>(to), mask, BitsOf<__m256i>(v));
#else
  std::memcpy(to, &v, n * sizeof(T));
#endif
}
// Copies the first n bytes and pads with zeros up to `total`, a multiple of 64. Bytes from n on are not read.
[[gnu::always_inline]] inline void CopyPadded(std::byte* to, const std::byte* from, int64_t n,
                                              int64_t total) {
#if defined(HLO_AVX512_VECTORS)
  for (int64_t i = 0; i < total; i += 64) {
    const uint64_t mask = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(std::clamp<int64_t>(n - i, 0, 64)));
    _mm512_storeu_si512(to + i, _mm512_maskz_loadu_epi8(mask, from + i));
  }
#else
  std::memcpy(to, from, n);
  std::memset(to + n, 0, total - n);
#endif
}
// Copies the first n bytes, which are few. Bytes from n on are not written.
[[gnu::always_inline]] inline void CopyFew(std::byte* to, const std::byte* from, int64_t n) {
#if defined(HLO_AVX512_VECTORS)
  for (int64_t i = 0; i < n; i += 64) {
    const uint64_t mask = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(std::min<int64_t>(n - i, 64)));
    _mm512_mask_storeu_epi8(to + i, mask, _mm512_maskz_loadu_epi8(mask, from + i));
  }
#else
  std::memcpy(to, from, n);
#endif
}
template <class T>
[[gnu::always_inline]] inline Vector<T> Broadcast(T value) {
  return value - Vector<T>{};
}

// Zero-extends 16-bit elements to words; the compiler's own conversion takes several instructions.
[[gnu::always_inline]] inline Vector<uint32_t> LoadHalves(const void* from) {
#if defined(HLO_AVX2_VECTORS)
  return BitsOf<Vector<uint32_t>>(_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from))));
#elif defined(HLO_AVX512_VECTORS)
  return BitsOf<Vector<uint32_t>>(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(from))));
#else
  typename VectorOf<uint16_t, kVectorBytes / 2>::type bits;
  std::memcpy(&bits, from, sizeof bits);
  return __builtin_convertvector(bits, Vector<uint32_t>);
#endif
}
// Zero-extends bytes to words.
[[gnu::always_inline]] inline Vector<int32_t> LoadBytes(const uint8_t* from) {
#if defined(HLO_AVX2_VECTORS)
  return BitsOf<Vector<int32_t>>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#elif defined(HLO_AVX512_VECTORS)
  return BitsOf<Vector<int32_t>>(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  typename VectorOf<uint8_t, kVectorBytes / 4>::type bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, Vector<int32_t>);
#endif
}
// Stores the low halves of the words of two vectors, one after the other; the high halves must be 0.
[[gnu::always_inline]] inline void StoreHalves(void* to, Vector<uint32_t> a, Vector<uint32_t> b) {
#if defined(HLO_AVX2_VECTORS)
  const __m256i packed =
      _mm256_permute4x64_epi64(_mm256_packus_epi32(BitsOf<__m256i>(a), BitsOf<__m256i>(b)), 0xd8);
  _mm256_storeu_si256(static_cast<__m256i*>(to), packed);
#else
  using Halves = typename VectorOf<uint16_t, kVectorBytes / 2>::type;
  const Halves halves[] = {__builtin_convertvector(a, Halves), __builtin_convertvector(b, Halves)};
  std::memcpy(to, halves, sizeof halves);
#endif
}

// Stores the high halves of the words of two vectors, one after the other.
[[gnu::always_inline]] inline void StoreUpperHalves(void* to, Vector<uint32_t> a, Vector<uint32_t> b) {
#if defined(HLO_AVX512_VECTORS)
  alignas(64) static constexpr auto kOdd = [] {
    std::array<uint16_t, 32> numbers{};
    for (uint16_t i = 0; i < 32; ++i) numbers[i] = 2 * i + 1;
    return numbers;
  }();
  _mm512_storeu_si512(
      to, _mm512_permutex2var_epi16(BitsOf<__m512i>(a), _mm512_load_si512(kOdd.data()), BitsOf<__m512i>(b)));
#else
  StoreHalves(to, a >> 16, b >> 16);
#endif
}
// Blocks are a pair of vectors that hold elements in alternating groups of four. Converting a bf16 vector to
// or from blocks, or ordered words to blocks, takes one instruction per vector.
namespace internal {
template <int kPart, size_t... kLane>
[[gnu::always_inline]] inline Vector<uint32_t> BlocksOf(Vector<uint32_t> a, Vector<uint32_t> b,
                                                        std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, static_cast<int>(kLane / 4 * 8 + kPart * 4 + kLane % 4)...);
}
}  // namespace internal
// Returns vector kPart of the blocks of two vectors in order.
template <int kPart>
[[gnu::always_inline]] inline Vector<uint32_t> BlocksOf(Vector<uint32_t> a, Vector<uint32_t> b) {
#if defined(HLO_AVX512_VECTORS)
  return BitsOf<Vector<uint32_t>>(
      _mm512_shuffle_i32x4(BitsOf<__m512i>(a), BitsOf<__m512i>(b), kPart == 0 ? 0x88 : 0xdd));
#elif defined(HLO_AVX2_VECTORS)
  return BitsOf<Vector<uint32_t>>(
      _mm256_permute2x128_si256(BitsOf<__m256i>(a), BitsOf<__m256i>(b), kPart == 0 ? 0x20 : 0x31));
#else
  return internal::BlocksOf<kPart>(a, b, std::make_index_sequence<kLanes<uint32_t>>());
#endif
}
// Returns the elements of two block vectors in order.
[[gnu::always_inline]] inline std::pair<Vector<uint32_t>, Vector<uint32_t>> InOrder(Vector<uint32_t> first,
                                                                                    Vector<uint32_t> second) {
#if defined(HLO_AVX512_VECTORS)
  const auto a = BitsOf<__m512i>(first), b = BitsOf<__m512i>(second);
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  return {BitsOf<Vector<uint32_t>>(_mm512_permutex2var_epi64(a, low, b)),
          BitsOf<Vector<uint32_t>>(_mm512_permutex2var_epi64(a, high, b))};
#else
  uint32_t words[2 * kLanes<uint32_t>];
  for (int i = 0; i < kLanes<uint32_t>; i += 4) {
    std::memcpy(words + 2 * i, reinterpret_cast<const uint32_t*>(&first) + i, 16);
    std::memcpy(words + 2 * i + 4, reinterpret_cast<const uint32_t*>(&second) + i, 16);
  }
  std::pair<Vector<uint32_t>, Vector<uint32_t>> result;
  std::memcpy(&result.first, words, sizeof result.first);
  std::memcpy(&result.second, words + kLanes<uint32_t>, sizeof result.second);
  return result;
#endif
}
// Returns vector kPart of the blocks of 16-bit elements in memory, as upper halves; the lower halves are 0.
template <int kPart>
[[gnu::always_inline]] inline Vector<uint32_t> LoadBlocksOfHalves(const void* from) {
#if defined(HLO_AVX512_VECTORS)
  const __m512i all = _mm512_loadu_si512(from), none = _mm512_setzero_si512();
  return BitsOf<Vector<uint32_t>>(kPart == 0 ? _mm512_unpacklo_epi16(none, all)
                                             : _mm512_unpackhi_epi16(none, all));
#elif defined(HLO_AVX2_VECTORS)
  const __m256i all = _mm256_loadu_si256(static_cast<const __m256i*>(from)), none = _mm256_setzero_si256();
  return BitsOf<Vector<uint32_t>>(kPart == 0 ? _mm256_unpacklo_epi16(none, all)
                                             : _mm256_unpackhi_epi16(none, all));
#else
  const auto* halves = static_cast<const uint16_t*>(from);
  return BlocksOf<kPart>(LoadHalves(halves), LoadHalves(halves + kLanes<uint32_t>)) << 16;
#endif
}
// Stores the upper halves of two block vectors in order.
[[gnu::always_inline]] inline void StoreUpperHalvesOfBlocks(void* to, Vector<uint32_t> first,
                                                            Vector<uint32_t> second) {
#if defined(HLO_AVX512_VECTORS)
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<uint16_t, 32> places{};
    for (uint16_t i = 0; i < 32; ++i) places[i] = i % 8 / 4 * 32 + (i / 8 * 4 + i % 4) * 2 + 1;
    return places;
  }();
  const __m512i places = _mm512_load_si512(kPlaces.data());
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(BitsOf<__m512i>(first), places, BitsOf<__m512i>(second)));
#elif defined(HLO_AVX2_VECTORS)
  const __m256i halves = _mm256_packus_epi32(BitsOf<__m256i>(first >> 16), BitsOf<__m256i>(second >> 16));
  _mm256_storeu_si256(static_cast<__m256i*>(to), halves);
#else
  const auto [low, high] = InOrder(first >> 16, second >> 16);
  StoreHalves(to, low, high);
#endif
}
// Broadcasts a constant from memory; the compiler would use a general-purpose register, which is slower.
template <uint32_t kWord>
[[gnu::always_inline]] inline Vector<uint32_t> WordInMemory() {
  static constexpr uint32_t kInMemory = kWord;
  const uint32_t* word = &kInMemory;
  asm("" : "+r"(word));
  return Broadcast(*word);
}

// Rounds to the nearest bf16, ties to even, in the upper halves. The result is unspecified for NaN and in the
// lower halves.
[[gnu::always_inline]] inline Vector<uint32_t> RoundedToBF16(Vector<float> v) {
  const auto bits = BitsOf<Vector<uint32_t>>(v);
#if defined(HLO_AVX512_VECTORS)
  const auto odd = _mm512_test_epi32_mask(BitsOf<__m512i>(bits), BitsOf<__m512i>(WordInMemory<0x10000>()));
  const auto up = _mm512_mask_blend_epi32(odd, BitsOf<__m512i>(WordInMemory<0x7fff>()),
                                          BitsOf<__m512i>(WordInMemory<0x8000>()));
  return bits + BitsOf<Vector<uint32_t>>(up);
#else
  return bits + 0x7fffu + ((bits >> 16) & 1u);
#endif
}

// Stores the low bytes of the words of two vectors, one after the other.
[[gnu::always_inline]] inline void StoreBytes(uint8_t* to, Vector<uint32_t> a, Vector<uint32_t> b) {
#if defined(HLO_AVX512_VECTORS)
  auto* out = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(out, _mm512_cvtepi32_epi8(BitsOf<__m512i>(a)));
  _mm_storeu_si128(out + 1, _mm512_cvtepi32_epi8(BitsOf<__m512i>(b)));
#else
  constexpr int kCount = 2 * kVectorBytes / 4;
  alignas(kVectorBytes) uint16_t halves[kCount];
  StoreHalves(halves, a, b);
  for (int k = 0; k < kCount; ++k) to[k] = static_cast<uint8_t>(halves[k]);
#endif
}

// Returns sum plus the products of the lower and of the upper halves as signed integers, wrapping.
[[gnu::always_inline]] inline Vector<uint32_t> AddPairProducts(Vector<uint32_t> sum, Vector<uint32_t> a,
                                                               Vector<uint32_t> b) {
#if defined(HLO_AVX2_VECTORS)
  return sum + BitsOf<Vector<uint32_t>>(_mm256_madd_epi16(BitsOf<__m256i>(a), BitsOf<__m256i>(b)));
#elif defined(HLO_AVX512_VECTORS)
  const auto left = BitsOf<__m512i>(a), right = BitsOf<__m512i>(b);
#if defined(__AVX512VNNI__)
  return BitsOf<Vector<uint32_t>>(_mm512_dpwssd_epi32(BitsOf<__m512i>(sum), left, right));
#else
  return sum + BitsOf<Vector<uint32_t>>(_mm512_madd_epi16(left, right));
#endif
#else
  const auto lower = [](Vector<uint32_t> v) {
    return __builtin_convertvector(v << 16, Vector<int32_t>) >> 16;
  };
  const auto upper = [](Vector<uint32_t> v) { return __builtin_convertvector(v, Vector<int32_t>) >> 16; };
  return sum + __builtin_convertvector(lower(a) * lower(b), Vector<uint32_t>) +
         __builtin_convertvector(upper(a) * upper(b), Vector<uint32_t>);
#endif
}

// True if the target has byte dot products, with four times the throughput of 32-bit multiplies.
#if (defined(HLO_AVX512_VECTORS) && defined(__AVX512VNNI__)) || \
    (defined(HLO_AVX2_VECTORS) && defined(__AVXVNNI__))
inline constexpr bool kMultipliesQuads = true;
#else
inline constexpr bool kMultipliesQuads = false;
#endif
// Returns sum plus the products of the four bytes, unsigned in a and signed in b, wrapping.
[[gnu::always_inline]] inline Vector<uint32_t> AddQuadProducts(Vector<uint32_t> sum, Vector<uint32_t> a,
                                                               Vector<uint32_t> b) {
#if defined(HLO_AVX512_VECTORS) && defined(__AVX512VNNI__)
  return BitsOf<Vector<uint32_t>>(
      _mm512_dpbusd_epi32(BitsOf<__m512i>(sum), BitsOf<__m512i>(a), BitsOf<__m512i>(b)));
#elif defined(HLO_AVX2_VECTORS) && defined(__AVXVNNI__)
  return BitsOf<Vector<uint32_t>>(
      _mm256_dpbusd_avx_epi32(BitsOf<__m256i>(sum), BitsOf<__m256i>(a), BitsOf<__m256i>(b)));
#else
  for (int shift = 0; shift < 32; shift += 8) {
    const auto right = BitsOf<Vector<uint32_t>>(BitsOf<Vector<int32_t>>(b << (24 - shift)) >> 24);
    sum += (a >> shift & 0xffu) * right;
  }
  return sum;
#endif
}

// True if the target has bf16 dot products, with twice the throughput of f32.
#if defined(HLO_AVX512_VECTORS) && defined(__AVX512BF16__)
inline constexpr bool kMultipliesPairsOfBF16 = true;
#else
inline constexpr bool kMultipliesPairsOfBF16 = false;
#endif
// Returns sum plus the products of the upper and of the lower bf16 halves, added in sequence. Denormals may
// be flushed to 0.
[[gnu::always_inline]] inline Vector<float> AddPairProducts(Vector<float> sum, Vector<float> a,
                                                            Vector<float> b) {
#if defined(HLO_AVX512_VECTORS) && defined(__AVX512BF16__)
  return _mm512_dpbf16_ps(sum, BitsOf<__m512bh>(a), BitsOf<__m512bh>(b));
#else
  const auto part = [](Vector<float> v, int shift) {
    return BitsOf<Vector<float>>(BitsOf<Vector<uint32_t>>(v) >> (16 - shift) << 16);
  };
  sum += part(a, 0) * part(b, 0);
  return sum + part(a, 16) * part(b, 16);
#endif
}

// Returns the elementwise minimum; NaN propagates, and -0 is less than +0.
template <class T>
[[gnu::always_inline]] inline Vector<T> MinimumOf(Vector<T> a, Vector<T> b) {
  // Each of the two instructions returns its second operand for NaN and for equal numbers.
  Vector<T> c, d;
#if defined(HLO_AVX2_VECTORS)
  if constexpr (sizeof(T) == 4) {
    c = _mm256_min_ps(a, b), d = _mm256_min_ps(b, a);
  } else {
    c = _mm256_min_pd(a, b), d = _mm256_min_pd(b, a);
  }
#elif defined(HLO_AVX512_VECTORS)
  if constexpr (sizeof(T) == 4) {
    c = _mm512_min_ps(a, b), d = _mm512_min_ps(b, a);
  } else {
    c = _mm512_min_pd(a, b), d = _mm512_min_pd(b, a);
  }
#else
  c = a < b ? a : b, d = b < a ? b : a;
#endif
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return BitsOf<Vector<T>>(BitsOf<Vector<Word>>(c) | BitsOf<Vector<Word>>(d));
}
template <class T>
[[gnu::always_inline]] inline Vector<T> MaximumOf(Vector<T> a, Vector<T> b) {
  return -MinimumOf<T>(-a, -b);
}

// Loads one vector of T from elements of a type that converts exactly.
template <class T, class S>
[[gnu::always_inline]] inline Vector<T> LoadAs(const S* from) {
  if constexpr (std::is_same_v<T, S>) {
    return LoadVector(from);
  } else if constexpr (std::is_same_v<S, float>) {
    static_assert(std::is_same_v<T, double>);
#if defined(HLO_AVX512_VECTORS)
    return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#else
    typename VectorOf<float, kVectorBytes / 2>::type part;
    std::memcpy(&part, from, sizeof part);
    return __builtin_convertvector(part, Vector<double>);
#endif
  } else if constexpr (std::is_same_v<S, bfloat16>) {
    static_assert(sizeof(T) == 4);
    return BitsOf<Vector<T>>(LoadHalves(from) << 16);
  } else if constexpr (std::is_same_v<S, int8_t>) {
    const Vector<int32_t> signs_first = LoadBytes(reinterpret_cast<const uint8_t*>(from)) << 24;
    return __builtin_convertvector(signs_first >> 24, Vector<T>);
  } else {
    static_assert(std::is_same_v<S, float16>);
#if defined(HLO_AVX512_VECTORS)
    if constexpr (sizeof(T) == 4)
      return BitsOf<Vector<T>>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(HLO_AVX2_VECTORS) && defined(__F16C__)
    if constexpr (sizeof(T) == 4)
      return BitsOf<Vector<T>>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#endif
    Vector<T> v;
    for (int i = 0; i < kLanes<T>; ++i) v[i] = from[i].ToFloat();
    return v;
  }
}

// Converts the lower and the upper half of the lanes.
[[gnu::always_inline]] inline std::pair<Vector<double>, Vector<double>> AsDoubles(Vector<float> v) {
#if defined(HLO_AVX512_VECTORS)
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))};
#elif defined(HLO_AVX2_VECTORS)
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))};
#else
  float lanes[kLanes<float>];
  StoreVector(lanes, v);
  return {LoadAs<double>(lanes), LoadAs<double>(lanes + kLanes<double>)};
#endif
}

// Returns the horizontal sum by halving; the order is fixed.
template <class T>
[[gnu::always_inline]] inline T SumOfLanes(Vector<T> v) {
#if defined(HLO_AVX512_VECTORS)
  if constexpr (std::is_same_v<T, double>) return _mm512_reduce_add_pd(v);
  if constexpr (std::is_same_v<T, float>) return _mm512_reduce_add_ps(v);
#elif defined(HLO_AVX2_VECTORS)
  if constexpr (std::is_same_v<T, double>) {
    const __m128d half = _mm256_castpd256_pd128(v) + _mm256_extractf128_pd(v, 1);
    return half[0] + half[1];
  }
  if constexpr (std::is_same_v<T, float>) {
    const __m128 half = _mm256_castps256_ps128(v) + _mm256_extractf128_ps(v, 1);
    const __m128 pair = half + _mm_movehl_ps(half, half);
    return pair[0] + pair[1];
  }
#endif
  T lanes[kLanes<T>];
  std::memcpy(lanes, &v, sizeof v);
  for (int half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

namespace internal {
template <int kDistance, class V, size_t... kLane>
[[gnu::always_inline]] inline void SwapBlocks(V& a, V& b, std::index_sequence<kLane...>) {
  constexpr int n = sizeof...(kLane);
  const V low = __builtin_shufflevector(
      a, b,
      ((kLane & kDistance) == 0 ? static_cast<int>(kLane) : n + static_cast<int>(kLane) - kDistance)...);
  const V high = __builtin_shufflevector(
      a, b,
      ((kLane & kDistance) == 0 ? static_cast<int>(kLane) + kDistance : n + static_cast<int>(kLane))...);
  a = low;
  b = high;
}
template <int kSide, int kDistance, class V>
[[gnu::always_inline]] inline void TransposeStep(V* rows) {
  if constexpr (kDistance < kSide) {
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) {
      if ((i & kDistance) == 0)
        SwapBlocks<kDistance>(rows[i], rows[i + kDistance], std::make_index_sequence<kSide>());
    }
    TransposeStep<kSide, kDistance * 2>(rows);
  }
}
}  // namespace internal

// Transposes a square of kSide vectors in place.
template <class T, int kSide = kLanes<T>>
[[gnu::always_inline]] inline void Transpose(
    typename VectorOf<T, kSide* static_cast<int>(sizeof(T))>::type* rows) {
  internal::TransposeStep<kSide, 1>(rows);
}

}  // namespace hlo::cpu
