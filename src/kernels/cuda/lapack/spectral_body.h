#pragma once
// The steps of eigenvalue and singular value decompositions around the rotations of jacobi_body.h. Matrices
// are scaled by a power of two, so that the largest component of an element is in [0.5, 1).

#include <cmath>
#include <limits>

#include "kernels/cuda/lapack/block_reduction.h"
#include "kernels/cuda/lapack/jacobi_body.h"

namespace hlo::cuda {

// The scale of a matrix that has no decomposition because an element is not finite.
[[gnu::visibility("hidden")]] inline constexpr int32_t kNotFinite = std::numeric_limits<int32_t>::max();

template <class T>
struct PrepareArgs {
  MatrixView<T> a;
  uint32_t rows = 0, columns = 0;
  T* scaled = nullptr;           // Dense, row-major.
  int32_t* exponents = nullptr;  // One per matrix: a = scaled * 2^exponent.
  // For eigenvalues: receives the dense columns of scaled + shift, where the shift makes it well-conditioned
  // and positive definite.
  T* shifted = nullptr;
};

// Scales matrices. One thread block per matrix. If kHermitian, only the lower triangle is read.
template <class T, bool kHermitian>
struct PrepareSpectrum {
  using Args = PrepareArgs<T>;
  static constexpr uint32_t kThreads = 256;
  static constexpr size_t kSharedBytes = kThreads * sizeof(double);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x;
    double* parts = reinterpret_cast<double*>(env.shared());
    double largest = 0;
    ForEachElement(env, args, [&](uint32_t, uint32_t, T x) {
      largest = std::fmax(largest, IsFinite(x) ? LargestPart(x) : INFINITY);
    });
    largest = LargestInBlock(env, parts, largest);
    int exponent = 0;
    if (IsFinite(largest)) std::frexp(largest, &exponent);
    if (env.thread() == 0) args.exponents[batch] = IsFinite(largest) ? exponent : kNotFinite;
    double squares = 0;
    T* scaled = args.scaled + static_cast<int64_t>(batch) * args.rows * args.columns;
    ForEachElement(env, args, [&](uint32_t i, uint32_t j, T x) {
      x = IsFinite(largest) ? TimesPower(x, -exponent) : T{};
      squares += SquaredSize(x);
      scaled[static_cast<int64_t>(i) * args.columns + j] = x;
    });
    if constexpr (kHermitian) {
      // The Frobenius norm bounds all eigenvalues.
      const double norm = std::sqrt(SumInBlock(env, parts, squares));
      T* shifted = args.shifted + static_cast<int64_t>(batch) * args.rows * args.columns;
      for (uint32_t at = env.thread(); at < args.rows * args.columns; at += kThreads) {
        const uint32_t j = at / args.rows, i = at - j * args.rows;
        const T x = scaled[static_cast<int64_t>(i) * args.columns + j];
        shifted[at] = i == j ? Sum(x, T{norm == 0 ? 1 : 1.5 * norm}) : x;
      }
    }
  }

 private:
  template <class Env, class Visit>
  static HLO_DEVICE void ForEachElement(Env& env, const Args& args, Visit&& visit) {
    const uint32_t batch = env.block().x;
    for (uint32_t at = env.thread(); at < args.rows * args.columns; at += kThreads) {
      const uint32_t i = at / args.columns, j = at - i * args.columns;
      if constexpr (kHermitian) {
        visit(i, j, args.a.ReadHermitian(batch, i, j));
      } else {
        visit(i, j, args.a.Read(batch, i, j));
      }
    }
  }
};

template <class T>
using PrepareGeneral = PrepareSpectrum<T, false>;
template <class T>
using PrepareHermitian = PrepareSpectrum<T, true>;

// Sets columns of 2n elements to r^H above the identity, or of n elements to r^H, where r is the upper
// triangle of the leading n rows of row-major matrices.
template <class T>
struct StackArgs {
  const T* factor = nullptr;
  int64_t factor_stride = 0;  // Elements of a matrix.
  T* columns = nullptr;
  int64_t n = 0, rows = 0, count = 0;
};

template <class T>
struct StackTriangle {
  using Args = StackArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const int64_t column = at / args.rows, i = at - column * args.rows, batch = column / args.n,
                  j = column - batch * args.n;
    T value{};
    if (i >= j && i < args.n)
      value = Conjugated(args.factor[batch * args.factor_stride + j * args.n + i]);
    else if (i == args.n + j)
      value = T{1};
    args.columns[at] = value;
  }
};

template <class T>
struct MeasureArgs {
  T* columns = nullptr;
  int64_t rows = 0;  // Elements from column to column.
  uint32_t n = 0;
  const T* hermitian = nullptr;  // Dense matrices, or null.
  double* values = nullptr;      // One per column.
};

// Returns the norms of the leading n elements of columns or, for a Hermitian matrix, normalises the columns
// and returns their Rayleigh quotients. One thread block per column.
template <class T>
struct MeasureColumns {
  using Args = MeasureArgs<T>;
  static constexpr uint32_t kThreads = 128;
  static constexpr size_t kSharedBytes = kThreads * sizeof(double);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    double* parts = reinterpret_cast<double*>(env.shared());
    T* x = args.columns + env.block().x * args.rows;
    double value = 0;
    for (uint32_t i = env.thread(); i < args.n; i += kThreads) value += SquaredSize(x[i]);
    value = std::sqrt(SumInBlock(env, parts, value));
    if (args.hermitian != nullptr) {
      for (uint32_t i = env.thread(); i < args.n; i += kThreads) x[i] = Quotient(x[i], value);
      env.sync();
      const T* a = args.hermitian + static_cast<int64_t>(env.block().x / args.n) * args.n * args.n;
      value = 0;
      for (uint32_t i = env.thread(); i < args.n; i += kThreads) {
        T sum{};
        // Row i is the adjoint of column i, which threads read together.
        for (uint32_t k = 0; k < args.n; ++k)
          sum = MultiplyAdd(Conjugated(a[static_cast<int64_t>(k) * args.n + i]), x[k], sum);
        value += RealPart(Product(Conjugated(x[i]), sum));
      }
      value = SumInBlock(env, parts, value);
    }
    if (env.thread() == 0) args.values[env.block().x] = value;
  }
};

struct RankArgs {
  const double* values = nullptr;
  uint32_t n = 0;
  bool descending = false;
  const int32_t* exponents = nullptr;
  const uint32_t* has_rotated = nullptr;  // See JacobiArgs.
  uint32_t* order = nullptr;              // The number of the column with each rank.
  double* sorted = nullptr;
  int32_t* failed = nullptr;  // One per matrix: 1 if it has no decomposition.
};

// Sorts values, in the order of columns if they are equal. One thread block per matrix.
struct RankValues {
  using Args = RankArgs;
  static constexpr uint32_t kThreads = 256;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t batch = env.block().x;
    const uint32_t* has_rotated = args.has_rotated + static_cast<int64_t>(batch) * kJacobiSweeps;
    const bool fails = args.exponents[batch] == kNotFinite || has_rotated[kJacobiSweeps - 1] != 0;
    const int64_t first = static_cast<int64_t>(batch) * args.n;
    const double* values = args.values + first;
    for (uint32_t j = env.thread(); j < args.n; j += kThreads) {
      const double x = values[j];
      uint32_t rank = 0;
      for (uint32_t k = 0; k < args.n; ++k) {
        const double y = values[k];
        const bool precedes = args.descending ? y > x : y < x;
        if (precedes || (y == x && k < j)) ++rank;
      }
      args.order[first + rank] = j;
      args.sorted[first + rank] =
          fails ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(x, args.exponents[batch]);
    }
    if (env.thread() == 0) args.failed[batch] = fails ? 1 : 0;
  }
};

// Copies columns in sorted order to the leading n rows and columns of matrices. Other elements become those
// of the identity.
template <class T>
struct GatherArgs {
  const T* source = nullptr;       // The first element of the first column.
  int64_t source_rows = 0, n = 0;  // Elements from column to column; columns of a matrix.
  const uint32_t* order = nullptr;
  MatrixView<T> to;
  int64_t rows = 0, columns = 0, count = 0;
  const T* signs = nullptr;  // Dense matrices: a column is negated if their diagonal's element is negative.
};

template <class T>
struct GatherColumns {
  using Args = GatherArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.count) return;
    const auto [batch, i, j] = ElementAt(at, args.rows, args.columns);
    T value = i == j ? T{1} : T{};
    if (i < args.n && j < args.n) {
      const int64_t column = batch * args.n + args.order[batch * args.n + j];
      value = args.source[column * args.source_rows + i];
      if (args.signs != nullptr && RealPart(args.signs[(batch * args.n + j) * args.n + j]) < 0)
        value = Negated(value);
    }
    args.to.Write(batch, i, j, value);
  }
};

// Sets matrices that have no decomposition to NaN.
template <class T>
struct InvalidateArgs {
  T* data = nullptr;
  int64_t matrix_size = 0, count = 0;
  const int32_t* failed = nullptr;
};

template <class T>
struct InvalidateMatrices {
  using Args = InvalidateArgs<T>;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at < args.count && args.failed[at / args.matrix_size] != 0)
      args.data[at] = T{std::numeric_limits<double>::quiet_NaN()};
  }
};

}  // namespace hlo::cuda
