#pragma once
// Cholesky factorisation and triangular solve (semantics 6.6 and 6.7) in f64 and c128. Blocked,
// right-looking: each diagonal block is factored or solved in shared memory, then its product is subtracted
// from the trailing rows. Every element accumulates in a fixed order.

#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "kernels/cuda/lapack/matrix_view.h"

namespace hlo::cuda {

// Rows per block.
template <class T>
[[gnu::visibility("hidden")]] inline constexpr uint32_t kTriangleBlock = 512 / sizeof(T);

// Factors l l^H = a in place for the leading `size` rows and columns. Does not read the upper triangle.
template <class T>
struct FactorArgs {
  MatrixView<T> a;
  uint32_t size = 0;
  uint32_t* failed = nullptr;  // One flag per matrix: not positive definite.
  // For potrf, one per matrix: the order of the first leading minor that is not positive, and its last pivot.
  // The order counts from the first row of the whole matrix; this block begins at its row `first`.
  int32_t* order = nullptr;
  double* pivot = nullptr;
  int32_t first = 0;
};

// One thread block per matrix.
template <class T>
struct FactorBlock {
  using Args = FactorArgs<T>;
  static constexpr uint32_t kThreads = 256, kBlock = kTriangleBlock<T>, kPitch = kBlock + 1;
  static constexpr size_t kSharedBytes = kBlock * kPitch * sizeof(T);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    T* l = reinterpret_cast<T*>(env.shared());
    const uint32_t batch = env.block().x, size = args.size;
    for (uint32_t x = env.thread(); x < kBlock * kBlock; x += kThreads) {
      const uint32_t i = x / kBlock, j = x % kBlock;
      if (j <= i && i < size) l[i * kPitch + j] = *args.a.At(batch, i, j);
    }
    HLO_ROLLED
    for (uint32_t j = 0; j < size; ++j) {
      env.sync();
      const double d = RealPart(l[j * kPitch + j]), root = std::sqrt(d);
      if (env.thread() == 0) Record(args, batch, j, d);
      env.sync();
      for (uint32_t i = j + env.thread(); i < size; i += kThreads)
        l[i * kPitch + j] = i == j ? T{root} : Quotient(l[i * kPitch + j], root);
      env.sync();
      HLO_ROLLED
      for (uint32_t x = env.thread() + (j + 1) * kBlock; x < size * kBlock; x += kThreads) {
        const uint32_t i = x / kBlock, c = x % kBlock;
        if (c > j && c <= i)
          l[i * kPitch + c] =
              MultiplyAdd(Negated(l[i * kPitch + j]), Conjugated(l[c * kPitch + j]), l[i * kPitch + c]);
      }
    }
    env.sync();
    for (uint32_t x = env.thread(); x < kBlock * kBlock; x += kThreads) {
      const uint32_t i = x / kBlock, j = x % kBlock;
      if (j <= i && i < size) *args.a.At(batch, i, j) = l[i * kPitch + j];
    }
  }

 private:
  static HLO_DEVICE void Record(const Args& args, uint32_t batch, uint32_t j, double d) {
    if (!(d >= 0)) args.failed[batch] = 1;
    if (args.order == nullptr || args.order[batch] != 0 || d > 0) return;
    args.order[batch] = args.first + static_cast<int32_t>(j) + 1;
    args.pivot[batch] = d;
  }
};

// Solves a x = x in place for the leading `size` rows.
template <class T>
struct SolveArgs {
  MatrixView<T> a, x;
  uint32_t size = 0, columns = 0;
  bool lower = true, unit_diagonal = false;
};

// One thread per column.
template <class T>
struct SolveBlock {
  using Args = SolveArgs<T>;
  static constexpr uint32_t kThreads = 64, kBlock = kTriangleBlock<T>;
  static constexpr size_t kSharedBytes = kBlock * (kBlock + kThreads) * sizeof(T);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    T* a = reinterpret_cast<T*>(env.shared());
    T* x = a + kBlock * kBlock;
    const uint32_t tiles = CeilDiv(args.columns, kThreads), size = args.size;
    const uint32_t batch = env.block().x / tiles, first = (env.block().x - batch * tiles) * kThreads;
    for (uint32_t e = env.thread(); e < size * kBlock; e += kThreads) {
      if (e % kBlock < size) a[e] = args.a.Read(batch, e / kBlock, e % kBlock);
    }
    EachOfColumns(env, args, first,
                  [&](uint32_t i, uint32_t c) { x[i * kThreads + c] = args.x.Read(batch, i, first + c); });
    env.sync();
    T* column = x + env.thread();
    HLO_ROLLED
    for (uint32_t step = 0; step < size; ++step) {
      const uint32_t i = args.lower ? step : size - 1 - step;
      const uint32_t begin = args.lower ? 0 : i + 1, end = args.lower ? i : size;
      T sum = column[i * kThreads];
      for (uint32_t k = begin; k < end; ++k)
        sum = MultiplyAdd(Negated(a[i * kBlock + k]), column[k * kThreads], sum);
      column[i * kThreads] = args.unit_diagonal ? sum : Quotient(sum, a[i * kBlock + i]);
    }
    env.sync();
    EachOfColumns(env, args, first,
                  [&](uint32_t i, uint32_t c) { args.x.Write(batch, i, first + c, x[i * kThreads + c]); });
  }

 private:
  // Adjacent threads access contiguous elements.
  template <class Env, class Visit>
  static HLO_DEVICE void EachOfColumns(Env& env, const Args& args, uint32_t first, Visit&& visit) {
    const bool by_rows = args.x.column_stride == 1;
    for (uint32_t e = env.thread(); e < kBlock * kThreads; e += kThreads) {
      const uint32_t i = by_rows ? e / kThreads : e % kBlock, c = by_rows ? e % kThreads : e / kBlock;
      if (i < args.size && first + c < args.columns) visit(i, c);
    }
  }
};

// Computes c -= a b.
template <class T>
struct SubtractArgs {
  MatrixView<T> c, a, b;
  uint32_t rows = 0, columns = 0, depth = 0;
  bool lower_only = false;  // Elements above the diagonal of c are not needed.
};

// Thread block tiles of 64 x 64, register tiles of 4 x 4.
template <class T>
struct SubtractGemm {
  using Args = SubtractArgs<T>;
  static constexpr uint32_t kThreads = 256, kTile = 64, kDepth = 16, kPitch = kTile + 1;
  static constexpr size_t kSharedBytes = 2 * kDepth * kPitch * sizeof(T);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t down = CeilDiv(args.rows, kTile), across = CeilDiv(args.columns, kTile);
    const uint32_t rest = env.block().x / across, batch = rest / down;
    const uint32_t row = (rest - batch * down) * kTile, column = (env.block().x - rest * across) * kTile;
    if (args.lower_only && row + kTile <= column) return;
    T* a = reinterpret_cast<T*>(env.shared());
    T* b = a + kDepth * kPitch;
    const uint32_t y = env.thread() / 16, x = env.thread() % 16;
    T sums[4][4];
    EachOfThread([&](int r, int c) {
      const uint32_t i = row + y + 16 * r, j = column + x + 16 * c;
      sums[r][c] = i < args.rows && j < args.columns ? *args.c.At(batch, i, j) : T{};
    });
    HLO_ROLLED
    for (uint32_t k = 0; k < args.depth; k += kDepth) {
      env.sync();
      CopyTile(env, args.a, batch, row, args.rows, k, args.depth, a);
      CopyTile(env, args.b.Transposed(), batch, column, args.columns, k, args.depth, b);
      env.sync();
      HLO_ROLLED
      for (uint32_t d = 0; d < kDepth; ++d) {
        T left[4], right[4];
        HLO_UNROLL
        for (int r = 0; r < 4; ++r) {
          left[r] = Negated(a[d * kPitch + y + 16 * r]);
          right[r] = b[d * kPitch + x + 16 * r];
        }
        EachOfThread([&](int r, int c) { sums[r][c] = MultiplyAdd(left[r], right[c], sums[r][c]); });
      }
    }
    EachOfThread([&](int r, int c) {
      const uint32_t i = row + y + 16 * r, j = column + x + 16 * c;
      if (i < args.rows && j < args.columns) *args.c.At(batch, i, j) = sums[r][c];
    });
  }

 private:
  template <class Visit>
  static HLO_DEVICE void EachOfThread(Visit&& visit) {
    HLO_UNROLL
    for (int r = 0; r < 4; ++r) {
      HLO_UNROLL
      for (int c = 0; c < 4; ++c) visit(r, c);
    }
  }

  // Fills to[d][i], zero-padded.
  template <class Env>
  static HLO_DEVICE void CopyTile(Env& env, const MatrixView<T>& from, uint32_t batch, uint32_t row,
                                  uint32_t rows, uint32_t k, uint32_t depth, T* to) {
    const bool by_columns = from.row_stride == 1;
    for (uint32_t e = env.thread(); e < kTile * kDepth; e += kThreads) {
      const uint32_t i = by_columns ? e % kTile : e / kDepth, d = by_columns ? e / kTile : e % kDepth;
      to[d * kPitch + i] = row + i < rows && k + d < depth ? from.Read(batch, row + i, k + d) : T{};
    }
  }
};

// Clears the other triangle of a factor; sets all elements to NaN if the factorisation failed.
template <class T>
struct FinishArgs {
  T* data = nullptr;
  int64_t n = 0, count = 0;
  bool lower = true;
  const uint32_t* failed = nullptr;
};

template <class T>
struct FinishFactor {
  using Args = FinishArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const auto [batch, i, j] = ElementAt(at, args.n, args.n);
    if (args.failed[batch] != 0)
      args.data[at] = T{std::numeric_limits<double>::quiet_NaN()};
    else if (args.lower ? j > i : j < i)
      args.data[at] = T{};
  }
};

// Completes potrf: the elements that it does not define are those of the operand. These are the other
// triangle and, if a leading minor is not positive, the columns from its last one on, except for its last
// pivot.
template <class T>
struct MergeArgs {
  T* data = nullptr;
  const T* operand = nullptr;
  int64_t n = 0, count = 0;
  bool lower = true;
  const int32_t* order = nullptr;
  const double* pivot = nullptr;
};

template <class T>
struct MergeFactor {
  using Args = MergeArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const auto [batch, row, column] = ElementAt(at, args.n, args.n);
    const int64_t i = args.lower ? row : column, j = args.lower ? column : row;
    const int64_t end = args.order[batch] == 0 ? args.n : args.order[batch] - 1;
    if (i == end && j == end)
      args.data[at] = T{args.pivot[batch]};
    else if (j > i || j >= end)
      args.data[at] = args.operand[at];
  }
};

}  // namespace hlo::cuda
