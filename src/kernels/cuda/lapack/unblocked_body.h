#pragma once
// Factorisations by one reflector after the other, in one thread block per matrix: QR with column pivoting
// (geqp3), and the reductions to Hessenberg (gehrd) and tridiagonal form (sytrd).

#include "kernels/cuda/lapack/reflectors_body.h"

namespace hlo::cuda {

// The threads of a block, and its shared memory.
template <class T>
struct UnblockedLaunch {
  static constexpr uint32_t kThreads = kReflectedColumns * kRowGroups;
  static constexpr uint32_t kMinBlocks = 2;
  static constexpr size_t kSharedBytes = kThreads * (sizeof(T) + sizeof(uint32_t));
};

// Applies a reflection to columns begin to end.
template <class Env, class T>
HLO_DEVICE void ApplyToColumns(Env& env, Reflection<T> reflection, uint32_t begin, uint32_t end) {
  reflection.columns = end;
  HLO_ROLLED
  for (uint32_t column = begin; column < end; column += kReflectedColumns) {
    reflection.column = column;
    reflection.Apply(env, reinterpret_cast<T*>(env.shared()));
  }
}

template <class T>
struct PivotedQrArgs {
  MatrixView<T> a;
  uint32_t rows = 0, columns = 0;
  const int32_t* given = nullptr;  // Per column: nonzero: it moves to the front and is not exchanged.
  int32_t* order = nullptr;        // Per column: its number in the given matrix, from 1 on.
  T* taus = nullptr;
};

template <class T>
struct FactorPivotedQr : UnblockedLaunch<T> {
  using Args = PivotedQrArgs<T>;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x, count = args.columns < args.rows ? args.columns : args.rows;
    const int64_t first = static_cast<int64_t>(batch) * args.columns;
    for (uint32_t j = env.thread(); j < args.columns; j += env.threads())
      args.order[first + j] = static_cast<int32_t>(j) + 1;
    env.sync();
    uint32_t fixed = 0;
    HLO_ROLLED
    for (uint32_t j = 0; j < args.columns; ++j) {
      if (args.given[first + j] != 0) Exchange(env, args, batch, fixed++, j);
    }
    HLO_ROLLED
    for (uint32_t j = 0; j < count; ++j) {
      if (j >= fixed) Exchange(env, args, batch, j, LongestColumn(env, args, batch, j));
      const T tau = MakeReflector(env, args.a, batch, {j, j, args.rows});
      if (env.thread() == 0) args.taus[batch * count + j] = tau;
      const Reflection<T> reflection{args.a, args.a, batch, j, j, args.rows, 0, 0, Conjugated(tau)};
      ApplyToColumns(env, reflection, j + 1, args.columns);
    }
  }

 private:
  template <class Env>
  static HLO_DEVICE void Exchange(Env& env, const Args& args, uint32_t batch, uint32_t i, uint32_t j) {
    if (i != j) {
      const MatrixView<T> rows = args.a.Transposed();
      for (uint32_t k = env.thread(); k < args.rows; k += env.threads()) rows.Exchange(batch, i, j, k);
      if (env.thread() == 0) {
        int32_t* order = args.order + static_cast<int64_t>(batch) * args.columns;
        const int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
      }
    }
    env.sync();
  }

  // Returns the first column from `j` on with the largest norm from row j on. A thread measures a column.
  template <class Env>
  static HLO_DEVICE uint32_t LongestColumn(Env& env, const Args& args, uint32_t batch, uint32_t j) {
    double longest = -1;
    uint32_t column = j;
    HLO_ROLLED
    for (uint32_t c = j + env.thread(); c < args.columns; c += env.threads()) {
      const double norm = Norm(args, batch, j, c);
      if (norm > longest) {
        longest = norm;
        column = c;
      }
    }
    return IndexOfLargest(env, env.shared(), longest, column);
  }

  // Returns the norm of a column from row `begin` on without overflow or underflow.
  static HLO_DEVICE double Norm(const Args& args, uint32_t batch, uint32_t begin, uint32_t column) {
    double squares = 0, largest = 0;
    for (uint32_t i = begin; i < args.rows; ++i) {
      const T x = *args.a.At(batch, i, column);
      squares += SquaredSize(x);
      largest = std::fmax(largest, LargestPart(x));
    }
    if (IsExactSum(squares) || largest == 0) return std::sqrt(squares);
    squares = 0;
    for (uint32_t i = begin; i < args.rows; ++i)
      squares += SquaredSize(Quotient(*args.a.At(batch, i, column), largest));
    return largest * std::sqrt(squares);
  }
};

// Computes q^H a q with zeros below the first subdiagonal in columns low to high - 1, where the reflectors
// are stored. Other elements of `taus` are zero.
template <class T>
struct HessenbergArgs {
  MatrixView<T> a;
  uint32_t n = 0, low = 0, high = 0;
  T* taus = nullptr;  // n - 1 per matrix.
};

template <class T>
struct ReduceToHessenberg : UnblockedLaunch<T> {
  using Args = HessenbergArgs<T>;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x, end = args.high + 1;
    T* taus = args.taus + static_cast<int64_t>(batch) * (args.n - 1);
    for (uint32_t j = env.thread(); j + 1 < args.n; j += env.threads()) {
      if (j < args.low || j >= args.high) taus[j] = T{};
    }
    HLO_ROLLED
    for (uint32_t j = args.low; j < args.high; ++j) {
      const T tau = MakeReflector(env, args.a, batch, {j, j + 1, end});
      if (env.thread() == 0) taus[j] = tau;
      // c (1 - tau v v^H) is the adjoint of (1 - conj(tau) v v^H) c^H.
      Reflection<T> reflection{args.a, args.a.Adjoint(), batch, j, j + 1, end, 0, 0, Conjugated(tau)};
      ApplyToColumns(env, reflection, 0, end);
      reflection.c = args.a;
      ApplyToColumns(env, reflection, j + 1, args.n);
    }
  }
};

// Fills dense matrices from the lower triangle of Hermitian ones.
template <class T>
struct ExpandArgs {
  MatrixView<T> a;
  T* to = nullptr;
  int64_t n = 0, count = 0;
};

template <class T>
struct ExpandHermitian {
  using Args = ExpandArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const auto [batch, i, j] = ElementAt(at, args.n, args.n);
    args.to[at] = args.a.ReadHermitian(batch, i, j);
  }
};

// Copies the reduced form of a Hermitian matrix to the lower triangle of `a`, and its parts to the other
// arrays, whose order is reversed if `reversed`.
template <class T>
struct TridiagonalPartsArgs {
  const T* form = nullptr;
  const T* form_taus = nullptr;
  MatrixView<T> a;
  int64_t n = 0, count = 0;
  bool reversed = false;
  double *diagonal = nullptr, *off_diagonal = nullptr;
  T* taus = nullptr;
};

template <class T>
struct StoreTridiagonalParts {
  using Args = TridiagonalPartsArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const int64_t n = args.n;
    const auto [batch, i, j] = ElementAt(at, n, n);
    if (i < j) return;
    const T x = i <= j + 1 ? T{RealPart(args.form[at])} : args.form[at];
    args.a.Write(batch, i, j, x);
    if (i == j) args.diagonal[batch * n + (args.reversed ? n - 1 - j : j)] = RealPart(x);
    if (i != j + 1) return;
    const int64_t entry = batch * (n - 1) + (args.reversed ? n - 2 - j : j);
    args.off_diagonal[entry] = RealPart(x);
    args.taus[entry] = args.form_taus[batch * (n - 1) + j];
  }
};

}  // namespace hlo::cuda
