// This file implements reductions of a tile to one element.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/fold_ops.h"
#include "kernels/cpu/elementwise/integer_folds.h"
#include "kernels/cpu/elementwise/vector_folds.h"
#include "kernels/cpu/simd/bf16_sums.h"

namespace hlo::cpu {
namespace {

using namespace folds;

// Keeps enough partial results in type A to hide the latency of the operation.
template <class F, class T, class A>
void FoldLoop(int64_t n, void* out, const void* const* in, int64_t) {
  constexpr int64_t kPartials = std::max<int64_t>(4, 128 / sizeof(T));
  const F f;
  const T* a = static_cast<const T*>(in[0]);
  A partial[kPartials];
  int64_t width = std::min(n, kPartials);
  std::copy_n(a, width, partial);
  int64_t i = kPartials;
  for (; i + kPartials <= n; i += kPartials) {
    for (int64_t k = 0; k < kPartials; ++k) partial[k] = f(partial[k], static_cast<A>(a[i + k]));
  }
  for (int64_t k = 0; i + k < n; ++k) partial[k] = f(partial[k], static_cast<A>(a[i + k]));
  while (width > 1) {
    const int64_t half = (width + 1) / 2;
    for (int64_t k = 0; k < width - half; ++k) partial[k] = f(partial[k], partial[half + k]);
    width = half;
  }
  *static_cast<T*>(out) = static_cast<T>(partial[0]);
}

template <class F, class T>
void IntegerFold(int64_t n, void* out, const void* const* in, int64_t) {
  const T* a = static_cast<const T*>(in[0]);
  if constexpr (std::is_same_v<T, bool>)
    *static_cast<T*>(out) = FoldPredicates<F>(n, a);
  else
    *static_cast<T*>(out) = FoldIntegers<F>(n, a);
}

#if defined(HLO_AVX512_VECTORS)
// Up to two vectors of partial results, of which the first `width` are in use.
template <class A>
struct PartialPair {
  Vector<A> first, second;
  int64_t width;
};

// Loads n elements, n <= 2 * kLanes<A>; other lanes are 0.
template <class T, class A>
PartialPair<A> LoadPair(const T* a, int64_t n) {
  if constexpr (std::is_same_v<T, A>) {
    const auto count = static_cast<int>(std::min<int64_t>(n, kLanes<A>));
    return {LoadFirst(a, count), LoadFirst(a + count, static_cast<int>(n) - count), n};
  } else {
    const auto halves = BitsOf<__m512d>(LoadFirst(a, static_cast<int>(n)));
    const auto widened = [](__m256d half) {
      return BitsOf<Vector<double>>(_mm512_cvtps_pd(_mm256_castpd_ps(half)));
    };
    return {widened(_mm512_castpd512_pd256(halves)), widened(_mm512_extractf64x4_pd(halves, 1)), n};
  }
}

template <class A>
using LaneIndex = Vector<std::conditional_t<sizeof(A) == 4, int32_t, int64_t>>;
template <class A>
LaneIndex<A> LaneNumbers(int64_t first) {
  LaneIndex<A> lanes;
  for (int i = 0; i < kLanes<A>; ++i) lanes[i] = i;
  return lanes + static_cast<std::conditional_t<sizeof(A) == 4, int32_t, int64_t>>(first);
}

// Returns f(a, b) in the first `count` lanes and a in the others.
template <class F, class A>
Vector<A> ApplyToFirst(Vector<A> a, Vector<A> b, int64_t count) {
  return LaneNumbers<A>(-count) < 0 ? F::template Vectors<A>(a, b) : a;
}
template <class F, class A>
void Combine(PartialPair<A>& a, const PartialPair<A>& b) {
  a.first = ApplyToFirst<F, A>(a.first, b.first, b.width);
  a.second = ApplyToFirst<F, A>(a.second, b.second, b.width - kLanes<A>);
}

// Performs FoldLoop for n < 256 / sizeof(T), in the same order. Its partial results in memory would be loaded
// at other places than they were stored, which is slow.
template <class F, class T, class A>
A ShortFold(int64_t n, const T* a) {
  constexpr int64_t kPartials = 128 / sizeof(T), kPair = 2 * kLanes<A>;
  PartialPair<A> pair = LoadPair<T, A>(a, std::min(n, kPair));
  if (n > kPartials) {
    const auto rest = [&](int64_t first) {
      return LoadPair<T, A>(a + kPartials + first, std::clamp<int64_t>(n - kPartials - first, 0, kPair));
    };
    Combine<F, A>(pair, rest(0));
    if constexpr (kPair < kPartials) {
      PartialPair<A> upper = LoadPair<T, A>(a + kPair, kPair);
      if (n > kPartials + kPair) Combine<F, A>(upper, rest(kPair));
      Combine<F, A>(pair, upper);
    }
  } else if (n > kPair) {
    pair = LoadPair<T, A>(a, (n + 1) / 2);
    Combine<F, A>(pair, LoadPair<T, A>(a + pair.width, n - pair.width));
  }
  for (int64_t width = pair.width; width > 1; width = (width + 1) / 2) {
    const int64_t half = (width + 1) / 2;
    const auto index = BitsOf<__m512i>(LaneNumbers<A>(half));
    Vector<A> upper;
    if constexpr (sizeof(A) == 4)
      upper = BitsOf<Vector<A>>(
          _mm512_permutex2var_ps(BitsOf<__m512>(pair.first), index, BitsOf<__m512>(pair.second)));
    else
      upper = BitsOf<Vector<A>>(
          _mm512_permutex2var_pd(BitsOf<__m512d>(pair.first), index, BitsOf<__m512d>(pair.second)));
    pair.first = ApplyToFirst<F, A>(pair.first, upper, width - half);
  }
  return pair.first[0];
}
#endif

// Performs FoldLoop with explicit vectors.
template <class F, class T, class A>
void VectorFold(int64_t n, void* out, const void* const* in, [[maybe_unused]] int64_t parameter) {
  constexpr int64_t kPartials = 128 / sizeof(T), kLane = kLanes<A>, kVectors = kPartials / kLane;
  const T* a = static_cast<const T*>(in[0]);
  if (n < 2 * kPartials) {
#if defined(HLO_AVX512_VECTORS)
    *static_cast<T*>(out) = static_cast<T>(ShortFold<F, T, A>(n, a));
    return;
#else
    return FoldLoop<F, T, A>(n, out, in, parameter);
#endif
  }
  Vector<A> v[kVectors];
#pragma GCC unroll 16
  for (int64_t k = 0; k < kVectors; ++k) v[k] = LoadAs<A>(a + k * kLane);
  int64_t i = kPartials;
  for (; i + kPartials <= n; i += kPartials) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < kVectors; ++k) v[k] = F::template Vectors<A>(v[k], LoadAs<A>(a + i + k * kLane));
  }
  *static_cast<T*>(out) = static_cast<T>(FoldRest<F, T, A, kVectors>(a + i, n - i, v));
}

#if !defined(HLO_AVX512_VECTORS)
// Performs FoldLoop for each row of n < 256 / sizeof(T) elements; each lane has the partial results of a row.
template <class F, class T, class A>
void FoldShortRows(int64_t n, int64_t count, const void* values, void* out) {
  constexpr int64_t kPartials = 128 / sizeof(T), kLane = kLanes<A>;
  T* to = static_cast<T*>(out);
  for (int64_t row = 0; row < count; row += kLane) {
    const T* rows[kLane];
    for (int64_t r = 0; r < kLane; ++r)
      rows[r] = static_cast<const T*>(values) + std::min(row + r, count - 1) * n;
    const auto elements = [&](int64_t k) __attribute__((always_inline)) {
      Vector<A> v;
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLane; ++r) v[r] = static_cast<A>(rows[r][k]);
      return v;
    };
    Vector<A> partial[kPartials];
    const auto combine = [&](int64_t k, Vector<A> other) __attribute__((always_inline)) {
      partial[k] = F::template Vectors<A>(partial[k], other);
    };
    int64_t width = std::min(n, kPartials);
    for (int64_t k = 0; k < width; ++k) partial[k] = elements(k);
    for (int64_t k = kPartials; k < n; ++k) combine(k - kPartials, elements(k));
    while (width > 1) {
      const int64_t half = (width + 1) / 2;
      for (int64_t k = 0; k < width - half; ++k) combine(k, partial[half + k]);
      width = half;
    }
    for (int64_t r = 0; r < std::min(kLane, count - row); ++r) to[row + r] = static_cast<T>(partial[0][r]);
  }
}
#endif

void SumBF16(int64_t n, void* out, const void* const* in, int64_t) {
  *static_cast<float*>(out) = SumOfBF16(n, static_cast<const float*>(in[0]));
}

// The operation on vectors for an operation on floats.
template <class F, class T>
struct VectorOp {
  static constexpr bool kExists = false;
};
template <class T>
requires std::is_floating_point_v<T>
struct VectorOp<scalar::Add, T> {
  static constexpr bool kExists = true;
  using Type = Sum;
};
template <class T>
requires std::is_floating_point_v<T>
struct VectorOp<scalar::Maximum, T> {
  static constexpr bool kExists = true;
  using Type = Largest;
};
template <class T>
requires std::is_floating_point_v<T>
struct VectorOp<scalar::Minimum, T> {
  static constexpr bool kExists = true;
  using Type = Smallest;
};

template <class F, class T, class A>
constexpr TileFn FoldOf() {
  if constexpr (std::is_integral_v<T>)
    return &IntegerFold<F, T>;
  else if constexpr (VectorOp<F, T>::kExists)
    return &VectorFold<typename VectorOp<F, T>::Type, T, A>;
  else
    return &FoldLoop<F, T, A>;
}

// Sums are accumulated like those of the reference.
template <class F, class T>
using Accumulator =
    std::conditional_t<std::is_floating_point_v<T> && std::is_same_v<F, scalar::Add>, double, T>;

// Performs the fold of FoldOf for each of `count` rows.
template <class F, class T>
void FoldRows(int64_t count, void* out, const void* const* in, int64_t length) {
  using A = Accumulator<F, T>;
#if !defined(HLO_AVX512_VECTORS)
  if constexpr (VectorOp<F, T>::kExists) {
    if (length < 256 / static_cast<int64_t>(sizeof(T)) && count > 1)
      return FoldShortRows<typename VectorOp<F, T>::Type, T, A>(length, count, in[0], out);
  }
#endif
  for (int64_t row = 0; row < count; ++row) {
    const void* const values[] = {static_cast<const T*>(in[0]) + row * length};
    FoldOf<F, T, A>()(length, static_cast<T*>(out) + row, values, 0);
  }
}

}  // namespace

TileCall FindTileFold(Opcode opcode, ElementType type) {
  return {DispatchComputeType(ComputeTypeOf(type), [&]<class T>() {
    TileFn found = nullptr;
    VisitFoldOp<T>(opcode, [&]<class F>() { found = FoldOf<F, T, Accumulator<F, T>>(); });
    return found;
  })};
}

TileCall FindRowsFold(Opcode opcode, ElementType type, int64_t length) {
  const TileFn function = DispatchComputeType(ComputeTypeOf(type), [&]<class T>() {
    TileFn found = nullptr;
    VisitFoldOp<T>(opcode, [&]<class F>() { found = &FoldRows<F, T>; });
    return found;
  });
  return {function, length};
}

namespace {
bool SumsFloats(const TileCall& fold) {
  return fold.function == FindTileFold(Opcode::kAdd, ElementType::kF32).function;
}
}  // namespace

TileCall FindBF16Fold(const TileCall& fold) { return SumsFloats(fold) ? TileCall{&SumBF16} : fold; }

FindFn FindFirstEqual(ComputeType compute_type) {
  return DispatchComputeType(compute_type, []<class T>() -> FindFn {
    return [](int64_t n, const void* values, const void* value) {
      constexpr int64_t kPart = 64;
      const T* a = static_cast<const T*>(values);
      const T wanted = *static_cast<const T*>(value);
      const auto fits = [&](T x) { return (x == wanted) | (x != x); };
      int64_t i = 0;
      for (; i + kPart <= n; i += kPart) {
        int32_t any = 0;
        for (int64_t k = 0; k < kPart; ++k) any |= fits(a[i + k]);
        if (any != 0) break;
      }
      while (i < n && !fits(a[i])) ++i;
      return i;
    };
  });
}

}  // namespace hlo::cpu
