#pragma once
// LU factorisation with partial pivoting in f64 and c128 (getrf). Blocked, right-looking: a panel of columns
// is factored, its exchanges of rows are applied to the other columns, and the product of its parts is
// subtracted from the trailing rows.

#include "base/arithmetic.h"
#include "kernels/cuda/lapack/block_reduction.h"
#include "kernels/cuda/lapack/matrix_view.h"

namespace hlo::cuda {

// Factors the `columns` columns of a panel. Pivots are numbers of rows from 1 of the whole matrix, whose row
// `first` is the panel's first one.
template <class T>
struct LuPanelArgs {
  MatrixView<T> a;
  uint32_t rows = 0, columns = 0, first = 0;
  int32_t* pivots = nullptr;  // The pivots of the panel.
  uint32_t pivot_stride = 0;  // Pivots of a matrix.
  int32_t* info = nullptr;    // One per matrix: the number of the first zero pivot from 1, or 0.
};

// One thread block per matrix.
template <class T>
struct LuPanel {
  using Args = LuPanelArgs<T>;
  static constexpr uint32_t kThreads = 256;
  static constexpr size_t kSharedBytes = kThreads * (sizeof(double) + sizeof(uint32_t));

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x;
    HLO_ROLLED
    for (uint32_t j = 0; j < args.columns; ++j) {
      const uint32_t pivot = LargestRow(env, args, batch, j);
      const bool is_zero = *args.a.At(batch, pivot, j) == T{};
      if (env.thread() == 0) {
        args.pivots[batch * args.pivot_stride + j] = static_cast<int32_t>(args.first + pivot) + 1;
        if (is_zero && args.info[batch] == 0) args.info[batch] = static_cast<int32_t>(args.first + j) + 1;
      }
      env.sync();
      if (is_zero) continue;
      if (pivot != j && env.thread() < args.columns) args.a.Exchange(batch, j, pivot, env.thread());
      env.sync();
      Eliminate(env, args, batch, j);
    }
  }

 private:
  // Returns the first row with the largest element of column j. NaNs are ignored, but in the diagonal, which
  // then stays.
  template <class Env>
  static HLO_DEVICE uint32_t LargestRow(Env& env, const Args& args, uint32_t batch, uint32_t j) {
    double largest = -1;
    uint32_t row = j;
    for (uint32_t i = j + env.thread(); i < args.rows; i += kThreads) {
      double size = PivotSize(*args.a.At(batch, i, j));
      if (i == j && !(size == size)) size = INFINITY;
      if (size > largest) {
        largest = size;
        row = i;
      }
    }
    return IndexOfLargest(env, env.shared(), largest, row);
  }

  // Divides column j below the diagonal by the pivot, and subtracts its product with row j.
  template <class Env>
  static HLO_DEVICE void Eliminate(Env& env, const Args& args, uint32_t batch, uint32_t j) {
    const T pivot = *args.a.At(batch, j, j);
    for (uint32_t i = j + 1 + env.thread(); i < args.rows; i += kThreads)
      *args.a.At(batch, i, j) = Quotient(*args.a.At(batch, i, j), pivot);
    env.sync();
    const uint32_t rest = args.columns - j - 1;
    for (uint32_t x = env.thread(); x < (args.rows - j - 1) * rest; x += kThreads) {
      const uint32_t i = j + 1 + x / rest, c = j + 1 + x % rest;
      *args.a.At(batch, i, c) =
          MultiplyAdd(Negated(*args.a.At(batch, i, j)), *args.a.At(batch, j, c), *args.a.At(batch, i, c));
    }
    env.sync();
  }
};

// Applies the exchanges of a panel to the columns before `left` and from `right` on.
template <class T>
struct SwapRowsArgs {
  MatrixView<T> a;
  uint32_t columns = 0, left = 0, right = 0;
  uint32_t first = 0, count = 0;  // The pivots of the panel: their first row, and their number.
  const int32_t* pivots = nullptr;
  uint32_t pivot_stride = 0;
};

// One thread per column.
template <class T>
struct SwapRows {
  using Args = SwapRowsArgs<T>;
  static constexpr uint32_t kThreads = 128;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t others = args.columns - (args.right - args.left), tiles = CeilDiv(others, kThreads);
    const uint32_t batch = env.block().x / tiles;
    uint32_t column = (env.block().x - batch * tiles) * kThreads + env.thread();
    if (column >= others) return;
    if (column >= args.left) column += args.right - args.left;
    HLO_ROLLED
    for (uint32_t k = 0; k < args.count; ++k) {
      const uint32_t i = args.first + k,
                     other = static_cast<uint32_t>(args.pivots[batch * args.pivot_stride + k]) - 1;
      if (other != i) args.a.Exchange(batch, i, other, column);
    }
  }
};

// Converts pivots, which are exchanges of rows, to a permutation of the rows. One thread per matrix.
struct PermutationArgs {
  const int32_t* pivots = nullptr;
  int32_t* counted = nullptr;  // Unless null, receives the pivots, counted from 0.
  int32_t* permutation = nullptr;
  int32_t first_row = 0;  // The number of row 0 in the pivots.
  uint32_t pivot_count = 0, rows = 0, batch = 0;
};

struct MakePermutation {
  using Args = PermutationArgs;
  static constexpr uint32_t kThreads = 64;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x * kThreads + env.thread();
    if (batch >= args.batch) return;
    int32_t* rows = args.permutation + static_cast<int64_t>(batch) * args.rows;
    for (uint32_t i = 0; i < args.rows; ++i) rows[i] = static_cast<int32_t>(i);
    for (uint32_t i = 0; i < args.pivot_count; ++i) {
      const int64_t at = static_cast<int64_t>(batch) * args.pivot_count + i;
      const int32_t other = args.pivots[at] - args.first_row;
      if (args.counted != nullptr) args.counted[at] = other;
      if (i >= args.rows || other < 0 || other >= static_cast<int32_t>(args.rows)) continue;
      const int32_t kept = rows[i];
      rows[i] = rows[other];
      rows[other] = kept;
    }
  }
};

}  // namespace hlo::cuda
