#include "kernels/cpu/chains/chain_fold.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/chains/chain_operations.h"

namespace hlo::cpu {
namespace {

using namespace chain;
using Doubles = Vector<double>;
using FoldKind = ChainFold::Kind;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The reductions: Take accumulates vector k of a strip in kCount partial vectors of T.
struct Sum {
  using T = Doubles;
  static constexpr int kCount = 4;
  [[gnu::always_inline]] static void Take(T* to, int64_t k, Floats v) {
    const auto [low, high] = AsDoubles(v);
    to[k % 2 * 2] += low;
    to[k % 2 * 2 + 1] += high;
  }
};
struct SumBF16 {
  using T = Floats;
  static constexpr int kCount = 4;
  [[gnu::always_inline]] static void Take(T* to, int64_t k, Floats v) { to[k % kCount] += v; }
};
// Maxima and minima that may change the bits of NaNs, which ExtremeOf canonicalises.
struct Largest {
  Floats operator()(Floats a, Floats b) const { return MaximumOf<float>(a, b); }
};
struct Smallest {
  Floats operator()(Floats a, Floats b) const { return MinimumOf<float>(a, b); }
};
template <class Operation>
struct Extreme {
  using T = Floats;
  static constexpr int kCount = 8;
  [[gnu::always_inline]] static void Take(T* to, int64_t k, Floats v) {
    to[k % kCount] = Operation()(to[k % kCount], v);
  }
};

// Accumulates a strip; accumulations into the same partial vector are consecutive.
template <class F, bool kIsHalf>
void Fold(const ChainStep* step, int64_t i, Floats a0, Floats a1, Floats a2, Floats a3, Floats a4, Floats a5,
          Floats a6, Floats a7) {
  auto* to = static_cast<typename F::T*>(step->operand);
  const auto take = [&](int k, Floats first, Floats second) __attribute__((always_inline)) {
    F::Take(to, k, first);
    if constexpr (!kIsHalf) F::Take(to, k + 4, second);
  };
  take(0, a0, a4);
  take(2, a2, a6);
  take(1, a1, a5);
  take(3, a3, a7);
  const ChainFn next = step[1].function;
  return (kIsHalf ? next.half : next.strip)(step + 1, i, a0, a1, a2, a3, a4, a5, a6, a7);
}

template <class Visit>
auto OfKind(FoldKind kind, Visit&& visit) {
  switch (kind) {
    case FoldKind::kSum:
      return visit.template operator()<Sum>();
    case FoldKind::kSumBF16:
      return visit.template operator()<SumBF16>();
    case FoldKind::kMaximum:
      return visit.template operator()<Extreme<Largest>>();
    case FoldKind::kMinimum:
      return visit.template operator()<Extreme<Smallest>>();
  }
  __builtin_unreachable();
}

// Moves lanes down by kDistance, and zeros to the last ones.
template <int kDistance, int... kIndex>
Floats ShiftLanes(Floats v, std::integer_sequence<int, kIndex...>) {
  return __builtin_shufflevector(v, Floats{}, (kIndex + kDistance)...);
}

// Reduces the lanes of one vector by halving.
template <class Operation, int kHalf = kLane / 2>
Floats ReduceLanes(Floats v) {
  v = Operation()(v, ShiftLanes<kHalf>(v, std::make_integer_sequence<int, kLane>()));
  if constexpr (kHalf == 1)
    return v;
  else
    return ReduceLanes<Operation, kHalf / 2>(v);
}
template <class Operation>
float ExtremeOf(Floats v) {
  v = ReduceLanes<Operation>(v);
  // Canonicalises a NaN, whose payload depends on the other operand.
  return v[0] == v[0] ? v[0] : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

std::optional<FoldKind> ChainFold::KindOf(const TileCall& fold, bool of_bf16) {
  const auto is = [&](Opcode opcode) {
    return fold.function == FindTileFold(opcode, ElementType::kF32).function;
  };
  if (fold.function == nullptr) return std::nullopt;
  if (is(Opcode::kAdd)) return of_bf16 ? FoldKind::kSumBF16 : FoldKind::kSum;
  if (is(Opcode::kMaximum)) return FoldKind::kMaximum;
  if (is(Opcode::kMinimum)) return FoldKind::kMinimum;
  return std::nullopt;
}

// The neutral element of addition is -0.
void ChainFold::Begin() {
  const float first = kind_ == FoldKind::kMaximum   ? -kInfinity
                      : kind_ == FoldKind::kMinimum ? kInfinity
                                                    : -0.0f;
  wide_[0] = wide_[1] = -Doubles{};  // These hold the sums of bf16.
  OfKind(kind_, [&]<class F>() {
    std::fill_n(static_cast<typename F::T*>(operand()), F::kCount, first - typename F::T{});
  });
  rest_ = first;
  taken_ = 0;
}

ChainFn ChainFold::function() const {
  return OfKind(kind_, []<class F>() -> ChainFn { return {&Fold<F, false>, &Fold<F, true>}; });
}

void ChainFold::Add(const float* values, int64_t n) {
  OfKind(kind_, [&]<class F>() {
    auto* partial = static_cast<typename F::T*>(operand());
    int64_t i = 0;
    for (; i + kLane <= n; i += kLane) F::Take(partial, i / kLane, LoadVector(values + i));
    if (i == n) return;
    if constexpr (std::is_same_v<F, Sum> || std::is_same_v<F, SumBF16>) {
      for (; i < n; ++i) rest_ += values[i];
    } else {
      float lanes[kLane];
      StoreVector(lanes, Broadcast(static_cast<float>(rest_)));
      std::copy(values + i, values + n, lanes);
      F::Take(partial, 0, LoadVector(lanes));
    }
  });
}

void ChainFold::AddTile(const float* values, int64_t n) {
  const ChainStep steps[] = {{function(), operand()}, {ChainEnd()}};
  const auto at = [&](int64_t i, int64_t k) { return LoadVector(values + i + k * kLane); };
  const Floats none{};
  int64_t i = 0;
  for (; i + kStrip <= n; i += kStrip)
    steps[0].function.strip(steps, i, at(i, 0), at(i, 1), at(i, 2), at(i, 3), at(i, 4), at(i, 5), at(i, 6),
                            at(i, 7));
  if (n - i >= kHalfStrip) {
    steps[0].function.half(steps, i, at(i, 0), at(i, 1), at(i, 2), at(i, 3), none, none, none, none);
    i += kHalfStrip;
  }
  Add(values + i, n - i);
}

void ChainFold::BeginTile(int64_t n) {
  if (kind_ == FoldKind::kSumBF16 && taken_ + n > kLongest) {
    const auto [low, high] = SumOfBF16();
    wide_[0] += low;
    wide_[1] += high;
    for (int k = 0; k < SumBF16::kCount; ++k) partial_[k] = -Floats{};
    taken_ = 0;
  }
  taken_ += n;
}

std::pair<Doubles, Doubles> ChainFold::SumOfBF16() const {
  return AsDoubles((partial_[0] + partial_[1]) + (partial_[2] + partial_[3]));
}

float ChainFold::result() const {
  if (kind_ == FoldKind::kSum)
    return static_cast<float>(SumOfLanes<double>((wide_[0] + wide_[2]) + (wide_[1] + wide_[3])) + rest_);
  if (kind_ == FoldKind::kSumBF16) {
    const auto [low, high] = SumOfBF16();
    return static_cast<float>(SumOfLanes<double>((wide_[0] + low) + (wide_[1] + high)) + rest_);
  }
  const auto of_all = [&]<class Operation>() {
    Floats v = partial_[0];
    for (int k = 1; k < 8; ++k) v = Operation()(v, partial_[k]);
    return ExtremeOf<Operation>(v);
  };
  return kind_ == FoldKind::kMaximum ? of_all.template operator()<Largest>()
                                     : of_all.template operator()<Smallest>();
}

}  // namespace hlo::cpu
