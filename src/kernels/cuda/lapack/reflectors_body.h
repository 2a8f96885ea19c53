#pragma once
// Householder reflectors H = 1 - tau v v^H in f64 and c128, with v[0] = 1 and the tail of v below the
// diagonal of a matrix (geqrf, orgqr, ormqr). A panel of columns is eliminated by one thread block; other
// columns take the panel's reflectors one after the other, independently of each other.

#include "base/arithmetic.h"
#include "kernels/cuda/lapack/block_reduction.h"
#include "kernels/cuda/lapack/matrix_view.h"

namespace hlo::cuda {

// The threads of a block as columns of a tile, and groups of rows.
[[gnu::visibility("hidden")]] inline constexpr uint32_t kReflectedColumns = 32, kRowGroups = 8;

// Computes c = (1 - tau v v^H) c for up to kReflectedColumns columns from `column` on, and rows from `begin`
// on. v is column r of `reflectors`, and 1 in row `begin`. All threads of the block take part.
template <class T>
struct Reflection {
  MatrixView<T> reflectors, c;
  uint32_t batch, r, begin, rows, column, columns;
  T tau;

  template <class Env>
  HLO_DEVICE void Apply(Env& env, T* parts) const {
    if (tau == T{}) return;
    const uint32_t x = env.thread() % kReflectedColumns, group = env.thread() / kReflectedColumns;
    const bool is_inside = column + x < columns;
    T sum{};
    for (uint32_t i = begin + group; is_inside && i < rows; i += kRowGroups)
      sum = MultiplyAdd(Conjugated(Element(i)), c.Read(batch, i, column + x), sum);
    parts[env.thread()] = sum;
    env.sync();
    sum = T{};
    for (uint32_t g = 0; g < kRowGroups; ++g) sum = Sum(sum, parts[g * kReflectedColumns + x]);
    const T factor = Negated(Product(tau, sum));
    for (uint32_t i = begin + group; is_inside && i < rows; i += kRowGroups)
      c.Write(batch, i, column + x, MultiplyAdd(Element(i), factor, c.Read(batch, i, column + x)));
    env.sync();
  }

 private:
  HLO_DEVICE T Element(uint32_t i) const { return i == begin ? T{1} : reflectors.Read(batch, i, r); }
};

// Rows begin to end of a column.
struct ColumnPart {
  uint32_t column, begin, end;
};

// Returns the norm of a part of a column without overflow or underflow. All threads of the block take part.
template <class Env, class T>
HLO_DEVICE double NormInBlock(Env& env, const MatrixView<T>& a, uint32_t batch, const ColumnPart& part) {
  double* parts = reinterpret_cast<double*>(env.shared());
  double squares = 0, largest = 0;
  for (uint32_t i = part.begin + env.thread(); i < part.end; i += env.threads()) {
    const T x = *a.At(batch, i, part.column);
    squares += SquaredSize(x);
    largest = std::fmax(largest, LargestPart(x));
  }
  squares = SumInBlock(env, parts, squares);
  largest = LargestInBlock(env, parts, largest);
  if (IsExactSum(squares) || largest == 0) return std::sqrt(squares);
  squares = 0;
  for (uint32_t i = part.begin + env.thread(); i < part.end; i += env.threads())
    squares += SquaredSize(Quotient(*a.At(batch, i, part.column), largest));
  return largest * std::sqrt(SumInBlock(env, parts, squares));
}

// Replaces a part of a column by (beta, v[1], ...), and returns tau (larfg).
template <class Env, class T>
HLO_DEVICE T MakeReflector(Env& env, const MatrixView<T>& a, uint32_t batch, const ColumnPart& part) {
  // Subnormal norms and elements have few bits.
  constexpr double kLeastNorm = 0x1p-900, kUp = 0x1p400;
  T* first = a.At(batch, part.begin, part.column);
  const auto measure = [&](T alpha, double tail) {
    return std::hypot(std::hypot(RealPart(alpha), ImaginaryPart(alpha)), tail);
  };
  const ColumnPart rest{part.column, part.begin + 1, part.end};
  T alpha = *first;
  double tail = NormInBlock(env, a, batch, rest);
  if (tail == 0 && ImaginaryPart(alpha) == 0) return T{};
  const bool is_small = measure(alpha, tail) < kLeastNorm;
  if (is_small) {
    for (uint32_t i = part.begin + env.thread(); i < part.end; i += env.threads())
      *a.At(batch, i, part.column) = Scaled(*a.At(batch, i, part.column), kUp);
    env.sync();
    alpha = *first;
    tail = NormInBlock(env, a, batch, rest);
  }
  const double norm = measure(alpha, tail);
  const double beta = std::signbit(RealPart(alpha)) ? norm : -norm;
  const T divisor = Sum(alpha, T{-beta});
  for (uint32_t i = part.begin + 1 + env.thread(); i < part.end; i += env.threads())
    *a.At(batch, i, part.column) = Quotient(*a.At(batch, i, part.column), divisor);
  env.sync();
  if (env.thread() == 0) *first = T{is_small ? beta / kUp : beta};
  env.sync();
  return Quotient(Sum(T{beta}, Negated(alpha)), beta);
}

template <class T>
struct QrPanelArgs {
  MatrixView<T> a;
  uint32_t rows = 0, columns = 0;
  T* taus = nullptr;
  uint32_t tau_stride = 0;
};

// Eliminates the elements below the diagonal of a panel of at most kReflectedColumns columns. One thread
// block per matrix.
template <class T>
struct QrPanel {
  using Args = QrPanelArgs<T>;
  static constexpr uint32_t kThreads = kReflectedColumns * kRowGroups;
  static constexpr size_t kSharedBytes = kThreads * sizeof(T);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x, count = args.columns < args.rows ? args.columns : args.rows;
    HLO_ROLLED
    for (uint32_t j = 0; j < count; ++j) {
      const T tau = MakeReflector(env, args.a, batch, {j, j, args.rows});
      if (env.thread() == 0) args.taus[batch * args.tau_stride + j] = tau;
      const Reflection<T> reflection{args.a, args.a,       batch,          j, j, args.rows,
                                     j + 1,  args.columns, Conjugated(tau)};
      reflection.Apply(env, reinterpret_cast<T*>(env.shared()));
    }
  }
};

// Applies reflectors 0, 1, ... to c, or the last one first. Reflector r begins in row r.
template <class T>
struct ApplyReflectorsArgs {
  MatrixView<T> reflectors, c;
  const T* taus = nullptr;
  uint32_t tau_stride = 0, count = 0, rows = 0, columns = 0;
  bool backwards = false, conjugate = false;  // With conjugate, tau is.
};

// One thread block per tile of columns.
template <class T>
struct ApplyReflectors {
  using Args = ApplyReflectorsArgs<T>;
  static constexpr uint32_t kThreads = kReflectedColumns * kRowGroups;
  static constexpr size_t kSharedBytes = kThreads * sizeof(T);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t tiles = CeilDiv(args.columns, kReflectedColumns);
    const uint32_t batch = env.block().x / tiles,
                   column = (env.block().x - batch * tiles) * kReflectedColumns;
    HLO_ROLLED
    for (uint32_t step = 0; step < args.count; ++step) {
      const uint32_t r = args.backwards ? args.count - 1 - step : step;
      const T tau = args.taus[batch * args.tau_stride + r];
      const Reflection<T> reflection{args.reflectors,
                                     args.c,
                                     batch,
                                     r,
                                     r,
                                     args.rows,
                                     column,
                                     args.columns,
                                     args.conjugate ? Conjugated(tau) : tau};
      reflection.Apply(env, reinterpret_cast<T*>(env.shared()));
    }
  }
};

template <class T>
struct IdentityArgs {
  T* data = nullptr;
  int64_t rows = 0, columns = 0, count = 0;
};

// Sets matrices to the identity.
template <class T>
struct SetIdentity {
  using Args = IdentityArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const auto [batch, i, j] = ElementAt(at, args.rows, args.columns);
    args.data[at] = i == j ? T{1} : T{};
  }
};

}  // namespace hlo::cuda
