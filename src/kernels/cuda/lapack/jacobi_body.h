#pragma once
// One-sided Jacobi rotations in f64 and c128: rotates pairs of columns of a matrix until all are orthogonal.
// The columns' norms are then its singular values. A sweep rotates each pair once, in the order of a
// round-robin tournament, whose rounds consist of disjoint pairs (Brent and Luk).

#include <cmath>
#include <limits>

#include "kernels/cuda/lapack/matrix_view.h"

namespace hlo::cuda {

// A matrix whose columns are not orthogonal after so many sweeps has no result.
[[gnu::visibility("hidden")]] inline constexpr uint32_t kJacobiSweeps = 40;

struct RoundRobinPair {
  uint32_t first, second;
};
// Returns pair `number` of a round among an even number of players. There are players - 1 rounds.
HLO_DEVICE RoundRobinPair RoundRobinPairOf(uint32_t players, uint32_t round, uint32_t number) {
  const uint32_t others = players - 1;
  if (number == 0) return {round, others};
  return {(round + number) % others, (round + others - number) % others};
}

// The columns of a matrix form groups. A thread block performs sweeps over the columns of two groups. If
// these are all columns, it continues until they are orthogonal; otherwise the groups have a tournament too,
// with a launch for each round.
template <class T>
struct JacobiArgs {
  T* columns = nullptr;  // Contiguous columns, matrix after matrix; no element exceeds about 1.
  uint32_t rows = 0, column_count = 0;  // Sizes of a matrix.
  uint32_t orthogonal_rows = 0;         // The other rows only take the rotations.
  uint32_t lanes = 0;                   // Threads of a pair: a power of two, at most a warp.
  uint32_t width = 0, groups = 0;       // Columns in a group; an even number of groups.
  uint32_t round = 0;
  uint32_t first_sweep = 0, end_sweep = 0;
  uint32_t* has_rotated = nullptr;  // kJacobiSweeps zeros per matrix; 1: some columns were not orthogonal.
  bool in_shared = false;           // The columns of two groups fit shared memory.
};

template <class T>
struct OrthogonaliseColumns {
  using Args = JacobiArgs<T>;
  static constexpr uint32_t kThreads = 512;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x / (args.groups / 2);
    const RoundRobinPair groups =
        RoundRobinPairOf(args.groups, args.round, env.block().x - batch * (args.groups / 2));
    uint32_t* has_rotated = args.has_rotated + static_cast<int64_t>(batch) * kJacobiSweeps;
    if (args.first_sweep > 0 && has_rotated[args.first_sweep - 1] == 0) return;
    const Columns columns{args, batch, groups};
    T* shared = reinterpret_cast<T*>(env.shared());
    if (args.in_shared) columns.ForEachElement(env, [&](T* x, uint32_t at) { shared[at] = *x; });
    env.sync();
    HLO_ROLLED
    for (uint32_t sweep = args.first_sweep; sweep < args.end_sweep; ++sweep) {
      if (Sweep(env, columns, args.in_shared ? shared : nullptr) && env.thread() % args.lanes == 0)
        env.atomic_or(has_rotated + sweep, 1);
      env.sync();
      if (env.load_volatile(has_rotated + sweep) == 0) break;
    }
    if (args.in_shared) columns.ForEachElement(env, [&](T* x, uint32_t at) { *x = shared[at]; });
  }

 private:
  // The columns of two groups, numbered from 0 on.
  struct Columns {
    const Args& args;
    uint32_t batch;
    RoundRobinPair groups;

    HLO_DEVICE uint32_t Number(uint32_t k) const {
      return k < args.width ? groups.first * args.width + k : groups.second * args.width + (k - args.width);
    }
    HLO_DEVICE bool Exists(uint32_t k) const { return Number(k) < args.column_count; }
    HLO_DEVICE T* Start(uint32_t k) const {
      return args.columns + (static_cast<int64_t>(batch) * args.column_count + Number(k)) * args.rows;
    }
    // Calls visit(element, its index in shared memory).
    template <class Env, class Visit>
    HLO_DEVICE void ForEachElement(Env& env, Visit&& visit) const {
      for (uint32_t at = env.thread(); at < 2 * args.width * args.rows; at += env.threads()) {
        const uint32_t k = at / args.rows;
        if (Exists(k)) visit(Start(k) + (at - k * args.rows), at);
      }
    }
  };

  // Returns true if this thread's lanes have rotated a pair.
  template <class Env>
  static HLO_DEVICE bool Sweep(Env& env, const Columns& columns, T* shared) {
    const Args& args = columns.args;
    bool has_rotated = false;
    HLO_ROLLED
    for (uint32_t round = 0; round + 1 < 2 * args.width; ++round) {
      // All lanes of a warp take part in the shuffles, also those without a pair.
      HLO_ROLLED
      for (uint32_t first = 0; first < args.width; first += env.threads() / args.lanes) {
        const uint32_t k = first + env.thread() / args.lanes;
        const RoundRobinPair pair = RoundRobinPairOf(2 * args.width, round, k < args.width ? k : 0);
        const bool exists = k < args.width && columns.Exists(pair.first) && columns.Exists(pair.second);
        T* x = shared != nullptr ? shared + pair.first * args.rows : columns.Start(pair.first);
        T* y = shared != nullptr ? shared + pair.second * args.rows : columns.Start(pair.second);
        has_rotated |= Rotate(env, args, exists, x, y);
      }
      env.sync();
    }
    return has_rotated;
  }

  // The squared norms of two columns.
  struct alignas(16) Squares {
    double first = 0, second = 0;
  };
  // Computes the norms and the product of two columns for all their lanes; zeros if these do not exist.
  template <class Env>
  static HLO_DEVICE void Measure(Env& env, const Args& args, bool exists, const T* x, const T* y,
                                 Squares& squares, T& product) {
    for (uint32_t i = env.thread() % args.lanes; exists && i < args.orthogonal_rows; i += args.lanes) {
      squares.first += SquaredSize(x[i]);
      squares.second += SquaredSize(y[i]);
      product = MultiplyAdd(Conjugated(x[i]), y[i], product);
    }
    HLO_ROLLED
    for (uint32_t mask = args.lanes / 2; mask > 0; mask /= 2) {
      const Squares other = env.shfl_xor(squares, static_cast<int>(mask));
      squares.first += other.first;
      squares.second += other.second;
      product = Sum(product, env.shfl_xor(product, static_cast<int>(mask)));
    }
  }

  // Makes two columns orthogonal. Returns true if their product was not yet a rounding error. Negligible
  // columns are not rotated: they consist of rounding errors, which need not become orthogonal.
  template <class Env>
  static HLO_DEVICE bool Rotate(Env& env, const Args& args, bool exists, T* x, T* y) {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    Squares squares;
    T product{};
    Measure(env, args, exists, x, y, squares, product);
    const double length = std::sqrt(squares.first), other = std::sqrt(squares.second),
                 size = std::hypot(RealPart(product), ImaginaryPart(product));
    const auto rows = static_cast<double>(args.orthogonal_rows);
    if (!(std::fmin(length, other) > rows * kEpsilon * kEpsilon) || !(size > kEpsilon / 2 * length * other))
      return false;
    const double zeta = (squares.second - squares.first) / (2 * size),
                 t = std::copysign(1 / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), zeta),
                 c = 1 / std::sqrt(1 + t * t), s = c * t, tau = s / (1 + c);
    // In this form, errors of the factors are multiplied by s, so that the columns' norms do not drift.
    const T phase = Quotient(product, size), adjoint = Conjugated(phase);
    for (uint32_t i = env.thread() % args.lanes; i < args.rows; i += args.lanes) {
      const T first = x[i], second = y[i];
      x[i] = Sum(first, Scaled(MultiplyAdd(adjoint, second, Scaled(first, tau)), -s));
      y[i] = Sum(second, Scaled(MultiplyAdd(phase, first, Scaled(second, -tau)), s));
    }
    return size > std::sqrt(rows) * kEpsilon * length * other;
  }
};

}  // namespace hlo::cuda
