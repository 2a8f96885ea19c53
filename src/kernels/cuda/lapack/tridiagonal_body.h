#pragma once
// Solves tridiagonal systems by elimination with partial pivoting (gtsv), in f64 and c128.

#include <limits>

#include "kernels/cuda/lapack/matrix_view.h"

namespace hlo::cuda {

// The arrays have n elements per system; the first element of `below` and the last one of `above` are unused.
// On return, they are those of the upper triangular factor, as LAPACK stores them.
template <class T>
struct TridiagonalArgs {
  T *below = nullptr, *diagonal = nullptr, *above = nullptr, *right_sides = nullptr;
  uint32_t n = 0, columns = 0, batch = 0;
  bool nan_if_singular = false;  // The solution of a singular system is NaN.
  // Each elimination has the multiple of the row that is subtracted from the next one, and 1 if both were
  // exchanged before.
  T* factors = nullptr;
  uint8_t* exchanges = nullptr;
  int32_t* info = nullptr;  // Per system: the number of the first zero pivot from 1, or 0.
};

// One thread per system.
template <class T>
struct FactorTridiagonal {
  using Args = TridiagonalArgs<T>;
  static constexpr uint32_t kThreads = 64;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x * kThreads + env.thread();
    if (batch >= args.batch) return;
    const int64_t first = static_cast<int64_t>(batch) * args.n;
    // below[i] is the element below diagonal[i].
    T *below = args.below + first + 1, *diagonal = args.diagonal + first, *above = args.above + first;
    int32_t info = 0;
    HLO_ROLLED
    for (uint32_t i = 0; i + 1 < args.n && info == 0; ++i) {
      const bool exchanged = PivotSize(diagonal[i]) < PivotSize(below[i]);
      args.exchanges[first + i] = exchanged ? 1 : 0;
      if (exchanged)
        args.factors[first + i] = Exchange(below, diagonal, above, i, i + 2 < args.n);
      else if (diagonal[i] == T{})
        info = static_cast<int32_t>(i) + 1;
      else
        args.factors[first + i] = Eliminate(below, diagonal, above, i);
    }
    if (info == 0 && diagonal[args.n - 1] == T{}) info = static_cast<int32_t>(args.n);
    args.info[batch] = info;
  }

 private:
  static HLO_DEVICE T Eliminate(T* below, T* diagonal, const T* above, uint32_t i) {
    const T factor = Quotient(below[i], diagonal[i]);
    diagonal[i + 1] = MultiplyAdd(Negated(factor), above[i], diagonal[i + 1]);
    below[i] = T{};
    return factor;
  }
  // The element two columns right of the diagonal is stored in `below`.
  static HLO_DEVICE T Exchange(T* below, T* diagonal, T* above, uint32_t i, bool has_third) {
    const T factor = Quotient(diagonal[i], below[i]), next = diagonal[i + 1];
    diagonal[i] = below[i];
    diagonal[i + 1] = MultiplyAdd(Negated(factor), next, above[i]);
    below[i] = T{};
    if (has_third) {
      below[i] = above[i + 1];
      above[i + 1] = Negated(Product(factor, below[i]));
    }
    above[i] = next;
    return factor;
  }
};

// One thread per column of right sides. Systems with a zero pivot are not solved; their right sides take the
// eliminations before it, or are NaN.
template <class T>
struct SolveTridiagonal {
  using Args = TridiagonalArgs<T>;
  static constexpr uint32_t kThreads = 64;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t tiles = CeilDiv(args.columns, kThreads), batch = env.block().x / tiles;
    const uint32_t column = (env.block().x - batch * tiles) * kThreads + env.thread();
    if (column >= args.columns) return;
    const int64_t first = static_cast<int64_t>(batch) * args.n;
    T* b = args.right_sides + first * args.columns + column;
    const auto row = [&](uint32_t i) -> T& { return b[static_cast<int64_t>(i) * args.columns]; };
    const int32_t info = args.info[batch];
    const uint32_t eliminations = (info == 0 ? args.n : static_cast<uint32_t>(info)) - 1;
    HLO_ROLLED
    for (uint32_t i = 0; i < eliminations; ++i) {
      const bool exchanged = args.exchanges[first + i] != 0;
      const T upper = row(exchanged ? i + 1 : i), lower = row(exchanged ? i : i + 1);
      row(i) = upper;
      row(i + 1) = MultiplyAdd(Negated(args.factors[first + i]), upper, lower);
    }
    if (info != 0) {
      HLO_ROLLED
      for (uint32_t i = 0; args.nan_if_singular && i < args.n; ++i)
        row(i) = T{std::numeric_limits<double>::quiet_NaN()};
      return;
    }
    const T *second = args.below + first + 1, *diagonal = args.diagonal + first, *above = args.above + first;
    HLO_ROLLED
    for (uint32_t i = args.n; i-- > 0;) {
      T sum = row(i);
      if (i + 1 < args.n) sum = MultiplyAdd(Negated(above[i]), row(i + 1), sum);
      if (i + 2 < args.n) sum = MultiplyAdd(Negated(second[i]), row(i + 2), sum);
      row(i) = Quotient(sum, diagonal[i]);
    }
  }
};

}  // namespace hlo::cuda
