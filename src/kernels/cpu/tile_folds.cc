// Loops that combine elements of one array with each other.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/simd.h"
#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {
namespace {

// As many partial results side by side as hide the latency of an operation, in the type A.
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

// As FoldLoop, by vectors.
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

// Both halves of words that hold two bf16 each, as f32.
[[gnu::always_inline]] inline std::pair<Vector<float>, Vector<float>> LoadPairs(const bfloat16* from) {
  Vector<uint32_t> words;
  std::memcpy(&words, from, sizeof words);
  const Vector<uint32_t> parts[] = {words << 16, words & 0xffff0000u};
  std::pair<Vector<float>, Vector<float>> floats;
  std::memcpy(&floats.first, &parts[0], sizeof floats.first);
  std::memcpy(&floats.second, &parts[1], sizeof floats.second);
  return floats;
}
[[gnu::always_inline]] inline std::pair<Vector<float>, Vector<float>> LoadPairs(const float* from) {
  return {LoadVector(from), LoadVector(from + kLanes<float>)};
}

// bf16 as it lies in memory or as f32, to f32. A few elements are summed up in f32, where bits of bf16 have
// room for carries, and their sums in f64. -0 is what adds nothing.
template <class T>
void SumBF16(int64_t n, void* out, const void* const* in, int64_t) {
  using Floats = Vector<float>;
  using Doubles = Vector<double>;
  constexpr int64_t kSteps = 16, kLane = kLanes<float>, kWidth = 4 * kLane;
  const T* a = static_cast<const T*>(in[0]);
  const Floats nothing = -Floats{};
  Doubles low = -Doubles{}, high = -Doubles{};
  int64_t i = 0;
  while (i + kWidth <= n) {
    Floats p0 = nothing, p1 = nothing, p2 = nothing, p3 = nothing;
    const int64_t end = std::min(n - kWidth, i + (kSteps - 1) * kWidth);
    for (; i <= end; i += kWidth) {
      if constexpr (!std::is_same_v<T, float>) {
        CallAhead(a + i);
        CallAhead(a + i + 2 * kLane);
      }
      const auto [a0, a1] = LoadPairs(a + i);
      const auto [a2, a3] = LoadPairs(a + i + 2 * kLane);
      p0 += a0;
      p1 += a1;
      p2 += a2;
      p3 += a3;
    }
    float sums[kLane];
    StoreVector(sums, (p0 + p1) + (p2 + p3));
    low += LoadAs<double>(sums);
    high += LoadAs<double>(sums + kLane / 2);
  }
  double sum = SumOfLanes<double>(low + high);
  for (; i < n; ++i) {
    if constexpr (std::is_same_v<T, float>)
      sum += a[i];
    else
      sum += a[i].ToFloat();
  }
  *static_cast<float*>(out) = static_cast<float>(sum);
}

template <class F, class T, class A = T>
TileFn FoldOf() {
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<F, scalar::Add>)
    return &VectorFold<VectorAdd, F, T, A>;
  else if constexpr (std::is_floating_point_v<T> && std::is_same_v<F, FloatMaximum>)
    return &VectorFold<VectorMaximum, F, T, A>;
  else if constexpr (std::is_floating_point_v<T> && std::is_same_v<F, FloatMinimum>)
    return &VectorFold<VectorMinimum, F, T, A>;
  else if constexpr (std::is_invocable_r_v<T, F, T, T>)
    return &FoldLoop<F, T, A>;
  else
    return nullptr;
}

template <class T>
TileFn Find(Opcode opcode) {
  constexpr bool is_float = std::is_floating_point_v<T>;
  switch (opcode) {
    case Opcode::kAdd:
      // As the reference sums.
      return FoldOf<scalar::Add, T, std::conditional_t<is_float, double, T>>();
    case Opcode::kAnd:
      return FoldOf<scalar::And, T>();
    case Opcode::kMaximum:
      return FoldOf<std::conditional_t<is_float, FloatMaximum, scalar::Maximum>, T>();
    case Opcode::kMinimum:
      return FoldOf<std::conditional_t<is_float, FloatMinimum, scalar::Minimum>, T>();
    case Opcode::kMultiply:
      return FoldOf<scalar::Multiply, T>();
    case Opcode::kOr:
      return FoldOf<scalar::Or, T>();
    case Opcode::kXor:
      return FoldOf<scalar::Xor, T>();
    default:
      return nullptr;
  }
}

}  // namespace

TileCall FindTileFold(Opcode opcode, ElementType type) {
  return {DispatchLane(LaneOf(type), [&]<class T>() { return Find<T>(opcode); })};
}

namespace {
bool SumsFloats(const TileCall& fold) {
  return fold.function == FindTileFold(Opcode::kAdd, ElementType::kF32).function;
}
}  // namespace

TileCall FindStoredFold(const TileCall& fold, ElementType stored) {
  return SumsFloats(fold) && stored == ElementType::kBF16 ? TileCall{&SumBF16<bfloat16>} : TileCall{};
}

TileCall FindBF16Fold(const TileCall& fold) { return SumsFloats(fold) ? TileCall{&SumBF16<float>} : fold; }

FindFn FindFirstEqual(Lane lane) {
  return DispatchLane(lane, []<class T>() -> FindFn {
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
