// Tiles folded to one element.

#include <algorithm>

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

template <class F, class T, class A = T>
TileFn FoldOf() {
  if constexpr (std::is_invocable_r_v<T, F, T, T>)
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

}  // namespace hlo::cpu
