// Loops that combine elements of one array with each other, or with those of another one at any places.

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

// bf16 as it lies in memory or as f32, to f32. A few elements are summed up in f32, where bits of bf16 have
// room for carries, and their sums in f64. -0 is what adds nothing.
template <class T>
void SumBF16(int64_t n, void* out, const void* const* in, int64_t) {
  using Floats = Vector<float>;
  using Doubles = VectorOf<double, 2 * kVectorBytes>::type;
  constexpr int64_t kSteps = 16, kLane = kLanes<float>, kWidth = 4 * kLane;
  const T* a = static_cast<const T*>(in[0]);
  const Floats nothing = -Floats{};
  Doubles totals = -Doubles{};
  int64_t i = 0;
  while (i + kWidth <= n) {
    Floats p0 = nothing, p1 = nothing, p2 = nothing, p3 = nothing;
    const int64_t end = std::min(n - kWidth, i + (kSteps - 1) * kWidth);
    for (; i <= end; i += kWidth) {
      p0 += LoadAs<float>(a + i);
      p1 += LoadAs<float>(a + i + kLane);
      p2 += LoadAs<float>(a + i + 2 * kLane);
      p3 += LoadAs<float>(a + i + 3 * kLane);
    }
    totals += __builtin_convertvector((p0 + p1) + (p2 + p3), Doubles);
  }
  double sum = -0.0;
  for (int64_t k = 0; k < kLane; ++k) sum += totals[k];
  for (; i < n; ++i) {
    if constexpr (std::is_same_v<T, float>)
      sum += a[i];
    else
      sum += a[i].ToFloat();
  }
  *static_cast<float*>(out) = static_cast<float>(sum);
}

template <class F, class T>
void ScatterLoop(int64_t n, void* result, const int64_t* at, const void* update, const int64_t* from) {
  const F f;
  T* r = static_cast<T*>(result);
  const T* u = static_cast<const T*>(update);
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] >= 0) r[at[i]] = f(r[at[i]], u[from[i]]);
  }
}

struct Loops {
  TileFn fold = nullptr;
  ScatterFn scatter = nullptr;
};

template <class F, class T, class A = T>
Loops LoopsOf() {
  if constexpr (std::is_invocable_r_v<T, F, T, T>)
    return {&FoldLoop<F, T, A>, &ScatterLoop<F, T>};
  else
    return {};
}

template <class T>
Loops Find(Opcode opcode) {
  constexpr bool is_float = std::is_floating_point_v<T>;
  switch (opcode) {
    case Opcode::kAdd:
      // As the reference sums.
      return LoopsOf<scalar::Add, T, std::conditional_t<is_float, double, T>>();
    case Opcode::kAnd:
      return LoopsOf<scalar::And, T>();
    case Opcode::kMaximum:
      return LoopsOf<std::conditional_t<is_float, FloatMaximum, scalar::Maximum>, T>();
    case Opcode::kMinimum:
      return LoopsOf<std::conditional_t<is_float, FloatMinimum, scalar::Minimum>, T>();
    case Opcode::kMultiply:
      return LoopsOf<scalar::Multiply, T>();
    case Opcode::kOr:
      return LoopsOf<scalar::Or, T>();
    case Opcode::kXor:
      return LoopsOf<scalar::Xor, T>();
    default:
      return {};
  }
}

}  // namespace

TileCall FindTileFold(Opcode opcode, ElementType type) {
  return {DispatchLane(LaneOf(type), [&]<class T>() { return Find<T>(opcode).fold; })};
}

namespace {
bool SumsFloats(const TileCall& fold) { return fold.function == &FoldLoop<scalar::Add, float, double>; }
}  // namespace

TileCall FindStoredFold(const TileCall& fold, ElementType stored) {
  return SumsFloats(fold) && stored == ElementType::kBF16 ? TileCall{&SumBF16<bfloat16>} : TileCall{};
}

TileCall FindBF16Fold(const TileCall& fold) { return SumsFloats(fold) ? TileCall{&SumBF16<float>} : fold; }

ScatterFn FindScatterLoop(Opcode opcode, ElementType type) {
  if (!IsStoredAsLane(type) || RoundTile(type).function != nullptr) return nullptr;
  return DispatchLane(LaneOf(type), [&]<class T>() { return Find<T>(opcode).scatter; });
}

}  // namespace hlo::cpu
