#pragma once
// This file reduces integers and predicates in memory. All orders have the same bits.

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Combines integers one after the other.
template <class F, class T>
T FoldInOrder(int64_t n, const T* a) {
  const F f;
  T result = a[0];
  for (int64_t i = 1; i < n; ++i) result = static_cast<T>(f(result, a[i]));
  return result;
}

#if defined(HLO_AVX512_VECTORS)
namespace internal {

template <class F, class G>
inline constexpr bool kIs = std::is_same_v<F, G>;

// An operation on vectors of integers, and its neutral element.
template <class F, class T>
struct IntegerFold {
  static constexpr bool kExists = kIs<F, scalar::Add> || kIs<F, scalar::Multiply> || kIs<F, scalar::And> ||
                                  kIs<F, scalar::Or> || kIs<F, scalar::Xor> || kIs<F, scalar::Maximum> ||
                                  kIs<F, scalar::Minimum>;
  using Unsigned = Vector<std::make_unsigned_t<T>>;  // Its sums and products wrap around.

  static constexpr T Neutral() {
    if constexpr (kIs<F, scalar::Multiply>) return 1;
    if constexpr (kIs<F, scalar::And>) return static_cast<T>(~T{0});
    if constexpr (kIs<F, scalar::Maximum>) return std::numeric_limits<T>::lowest();
    if constexpr (kIs<F, scalar::Minimum>) return std::numeric_limits<T>::max();
    return 0;
  }
  [[gnu::always_inline]] static Vector<T> Apply(Vector<T> a, Vector<T> b) {
    if constexpr (kIs<F, scalar::Maximum>) return a > b ? a : b;
    if constexpr (kIs<F, scalar::Minimum>) return a < b ? a : b;
    const auto x = BitsOf<Unsigned>(a), y = BitsOf<Unsigned>(b);
    Unsigned result;
    if constexpr (kIs<F, scalar::Add>)
      result = x + y;
    else if constexpr (kIs<F, scalar::Multiply>)
      result = x * y;
    else if constexpr (kIs<F, scalar::And>)
      result = x & y;
    else if constexpr (kIs<F, scalar::Or>)
      result = x | y;
    else
      result = x ^ y;
    return BitsOf<Vector<T>>(result);
  }
  // Loads n elements, 0 <= n <= kLanes<T>; the other lanes are neutral.
  [[gnu::always_inline]] static Vector<T> Load(const T* from, int64_t n) {
    const auto others = BitsOf<__m512i>(Broadcast(Neutral()));
    const uint64_t mask = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(n));
    if constexpr (sizeof(T) == 1)
      return BitsOf<Vector<T>>(_mm512_mask_loadu_epi8(others, mask, from));
    else if constexpr (sizeof(T) == 2)
      return BitsOf<Vector<T>>(_mm512_mask_loadu_epi16(others, static_cast<__mmask32>(mask), from));
    else if constexpr (sizeof(T) == 4)
      return BitsOf<Vector<T>>(_mm512_mask_loadu_epi32(others, static_cast<__mmask16>(mask), from));
    else
      return BitsOf<Vector<T>>(_mm512_mask_loadu_epi64(others, static_cast<__mmask8>(mask), from));
  }
  template <int kHalf, size_t... kLane>
  [[gnu::always_inline]] static T Lanes(Vector<T> v, std::index_sequence<kLane...> lanes) {
    v = Apply(v, __builtin_shufflevector(v, v, static_cast<int>(kLane ^ kHalf)...));
    if constexpr (kHalf == 1)
      return v[0];
    else
      return Lanes<kHalf / 2>(v, lanes);
  }
};

}  // namespace internal
#endif

// Combines n > 0 integers.
template <class F, class T>
T FoldIntegers(int64_t n, const T* a) {
#if defined(HLO_AVX512_VECTORS)
  using Fold = internal::IntegerFold<F, T>;
  if constexpr (Fold::kExists) {
    constexpr int64_t kFewest = 6, kLane = kLanes<T>;  // Fewer are combined faster one by one.
    if (n < kFewest) return FoldInOrder<F>(n, a);
    Vector<T> first = Fold::Load(a, std::min(n, kLane));
    if (n > kLane) {
      Vector<T> second = Fold::Load(a + kLane, std::min(n - kLane, kLane));
      int64_t i = 2 * kLane;
      for (; i + 2 * kLane <= n; i += 2 * kLane) {
        first = Fold::Apply(first, LoadVector(a + i));
        second = Fold::Apply(second, LoadVector(a + i + kLane));
      }
      if (i < n) first = Fold::Apply(first, Fold::Load(a + i, std::min(n - i, kLane)));
      if (i + kLane < n) second = Fold::Apply(second, Fold::Load(a + i + kLane, n - i - kLane));
      first = Fold::Apply(first, second);
    }
    return Fold::template Lanes<static_cast<int>(kLane / 2)>(first, std::make_index_sequence<kLanes<T>>());
  }
#endif
  return FoldInOrder<F>(n, a);
}

// Combines n > 0 predicates, whose values are 0 and 1, by the operation F on these.
template <class F>
bool FoldPredicates(int64_t n, const bool* a) {
  constexpr bool kIsOr =
      std::is_same_v<F, scalar::Or> || std::is_same_v<F, scalar::Add> || std::is_same_v<F, scalar::Maximum>;
  constexpr bool kIsAnd = std::is_same_v<F, scalar::And> || std::is_same_v<F, scalar::Multiply> ||
                          std::is_same_v<F, scalar::Minimum>;
  const auto* bytes = reinterpret_cast<const uint8_t*>(a);
  if constexpr (kIsOr)
    return FoldIntegers<scalar::Or>(n, bytes) != 0;
  else if constexpr (kIsAnd)
    return FoldIntegers<scalar::And>(n, bytes) != 0;
  else if constexpr (std::is_same_v<F, scalar::Xor>)
    return FoldIntegers<scalar::Xor>(n, bytes) != 0;
  else
    return FoldInOrder<F>(n, a);
}

}  // namespace hlo::cpu
