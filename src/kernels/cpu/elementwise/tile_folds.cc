// This file implements reductions of a tile to one element.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/fold_ops.h"
#include "kernels/cpu/simd/bf16_sums.h"

namespace hlo::cpu {
namespace {

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

struct VectorAdd {
  template <class A>
  static Vector<A> Apply(Vector<A> a, Vector<A> b) {
    return a + b;
  }
};
struct VectorMaximum {
  template <class A>
  static Vector<A> Apply(Vector<A> a, Vector<A> b) {
    return MaximumOf<A>(a, b);
  }
};
struct VectorMinimum {
  template <class A>
  static Vector<A> Apply(Vector<A> a, Vector<A> b) {
    return MinimumOf<A>(a, b);
  }
};

// Performs FoldLoop with explicit vectors.
template <class V, class F, class T, class A>
void VectorFold(int64_t n, void* out, const void* const* in, int64_t parameter) {
  constexpr int64_t kPartials = 128 / sizeof(T), kLane = kLanes<A>, kVectors = kPartials / kLane;
  if (n < 2 * kPartials) return FoldLoop<F, T, A>(n, out, in, parameter);
  const T* a = static_cast<const T*>(in[0]);
  Vector<A> v[kVectors];
#pragma GCC unroll 16
  for (int64_t k = 0; k < kVectors; ++k) v[k] = LoadAs<A>(a + k * kLane);
  int64_t i = kPartials;
  for (; i + kPartials <= n; i += kPartials) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < kVectors; ++k) v[k] = V::template Apply<A>(v[k], LoadAs<A>(a + i + k * kLane));
  }
  A partial[kPartials];
  std::memcpy(partial, v, sizeof partial);
  const F f;
  for (int64_t k = 0; i + k < n; ++k) partial[k] = f(partial[k], static_cast<A>(a[i + k]));
  for (int64_t half = kPartials / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) partial[k] = f(partial[k], partial[half + k]);
  }
  *static_cast<T*>(out) = static_cast<T>(partial[0]);
}

void SumBF16(int64_t n, void* out, const void* const* in, int64_t) {
  *static_cast<float*>(out) = SumOfBF16(n, static_cast<const float*>(in[0]));
}

template <class F, class T, class A>
TileFn FoldOf() {
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<F, scalar::Add>)
    return &VectorFold<VectorAdd, F, T, A>;
  else if constexpr (std::is_floating_point_v<T> && std::is_same_v<F, scalar::Maximum>)
    return &VectorFold<VectorMaximum, F, T, A>;
  else if constexpr (std::is_floating_point_v<T> && std::is_same_v<F, scalar::Minimum>)
    return &VectorFold<VectorMinimum, F, T, A>;
  else
    return &FoldLoop<F, T, A>;
}

// Sums are accumulated like those of the reference.
template <class F, class T>
using Accumulator =
    std::conditional_t<std::is_floating_point_v<T> && std::is_same_v<F, scalar::Add>, double, T>;

template <class T>
TileFn FindFoldOp(Opcode opcode) {
  TileFn found = nullptr;
  VisitFoldOp<T>(opcode, [&]<class F>() { found = FoldOf<F, T, Accumulator<F, T>>(); });
  return found;
}

}  // namespace

TileCall FindTileFold(Opcode opcode, ElementType type) {
  return {DispatchComputeType(ComputeTypeOf(type), [&]<class T>() { return FindFoldOp<T>(opcode); })};
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
