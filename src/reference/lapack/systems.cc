#include "reference/lapack/systems.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "reference/lapack/householder.h"

namespace hlo::reference::lapack {
namespace {

// Returns the first row of a column with the largest pivot; NaNs are ignored.
template <class T>
int64_t LargestFrom(const Matrix<T>& a, int64_t column, int64_t begin) {
  int64_t best = begin;
  for (int64_t i = begin + 1; i < a.rows; ++i) {
    if (PivotSize(a(i, column)) > PivotSize(a(best, column))) best = i;
  }
  return best;
}

// Elements of `to` that `from` lacks stay.
template <class T>
void Copy(const Matrix<const T>& from, const Matrix<T>& to) {
  for (int64_t i = 0; i < from.rows; ++i) {
    for (int64_t j = 0; j < from.columns; ++j) to(i, j) = from(i, j);
  }
}

template <class T>
void SwapRows(const Matrix<T>& a, int64_t i, int64_t j) {
  for (int64_t k = 0; k < a.columns; ++k) std::swap(a(i, k), a(j, k));
}

}  // namespace

template <class T>
absl::StatusOr<int64_t> Potrf(Matrix<T> a, bool lower) {
  DeadlineChecker deadline;
  // The upper factor is the adjoint of the lower one; transposed access computes both.
  const auto at = [&](int64_t i, int64_t j) -> T& { return lower ? a(i, j) : a(j, i); };
  for (int64_t j = 0; j < a.rows; ++j) {
    double d = std::real(at(j, j));
    for (int64_t k = 0; k < j; ++k) d -= std::norm(at(j, k));
    at(j, j) = d;
    if (!(d > 0)) return j + 1;
    at(j, j) = std::sqrt(d);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      HLO_RETURN_IF_ERROR(deadline.Spend(j));
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * Conj(at(j, k));
      at(i, j) = sum / std::real(at(j, j));
    }
  }
  return 0;
}

template <class T>
int64_t Getrf(Matrix<T> a, absl::Span<int64_t> pivots) {
  int64_t info = 0;
  for (int64_t j = 0; j < static_cast<int64_t>(pivots.size()); ++j) {
    pivots[j] = LargestFrom(a, j, j);
    if (a(pivots[j], j) == T(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (pivots[j] != j) SwapRows(a, j, pivots[j]);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      a(i, j) /= a(j, j);
      for (int64_t k = j + 1; k < a.columns; ++k) a(i, k) -= a(i, j) * a(j, k);
    }
  }
  return info;
}

template <class T>
absl::Status Trsm(Matrix<const T> a, Matrix<T> b, const TriangleOptions& options) {
  DeadlineChecker deadline;
  // x op(a) = b is op(a)^T x^T = b^T.
  const Matrix<T> x = options.left ? b : b.Transposed();
  const bool transposed = (options.op != MatrixOp::kNone) == options.left;
  const bool lower = options.lower != transposed;
  const auto at = [&](int64_t i, int64_t j) {
    const T element = transposed ? a(j, i) : a(i, j);
    return options.op == MatrixOp::kAdjoint ? Conj(element) : element;
  };
  for (int64_t step = 0; step < x.rows; ++step) {
    const int64_t i = lower ? step : x.rows - 1 - step;
    const int64_t begin = lower ? 0 : i + 1, end = lower ? i : x.rows;
    for (int64_t column = 0; column < x.columns; ++column) {
      HLO_RETURN_IF_ERROR(deadline.Spend(step));
      T sum = x(i, column);
      for (int64_t k = begin; k < end; ++k) sum -= at(i, k) * x(k, column);
      x(i, column) = options.unit_diagonal ? sum : sum / at(i, i);
    }
  }
  return absl::OkStatus();
}

template <class T>
int64_t Gtsv(absl::Span<T> below, absl::Span<T> diagonal, absl::Span<T> above, Matrix<T> b) {
  const auto n = static_cast<int64_t>(diagonal.size());
  // Row i of b minus a multiple of row j.
  const auto subtract = [&](int64_t i, T factor, int64_t j) {
    for (int64_t k = 0; k < b.columns; ++k) b(i, k) -= factor * b(j, k);
  };
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (PivotSize(diagonal[i]) >= PivotSize(below[i])) {
      if (diagonal[i] == T(0)) return i + 1;
      const T factor = below[i] / diagonal[i];
      diagonal[i + 1] -= factor * above[i];
      subtract(i + 1, factor, i);
      below[i] = T(0);
      continue;
    }
    // The rows are swapped; the fill-in two places right of the diagonal is stored in `below`.
    const T factor = diagonal[i] / below[i];
    diagonal[i] = below[i];
    const T next = diagonal[i + 1];
    diagonal[i + 1] = above[i] - factor * next;
    below[i] = T(0);
    if (i + 2 < n) {
      below[i] = above[i + 1];
      above[i + 1] = -factor * below[i];
    }
    above[i] = next;
    SwapRows(b, i, i + 1);
    subtract(i + 1, factor, i);
  }
  if (n > 0 && diagonal[n - 1] == T(0)) return n;
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i + 1 < n) subtract(i, above[i], i + 1);
    if (i + 2 < n) subtract(i, below[i], i + 2);
    for (int64_t k = 0; k < b.columns; ++k) b(i, k) /= diagonal[i];
  }
  return 0;
}

template <class T>
absl::Status LeastSquares(Matrix<const T> a, Matrix<const T> b, Matrix<T> x) {
  // a p = q [r; 0] with column pivoting, where the rows of r end with those that are rounding errors.
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n), count = b.columns;
  std::vector<T> qr_elements(m * n), rotated_elements(m * count), taus(k);
  std::vector<int64_t> pivots(n);
  const auto qr = Matrix<T>::Dense(qr_elements.data(), m, n);
  const auto rotated = Matrix<T>::Dense(rotated_elements.data(), m, count);
  Copy(a, qr);
  Copy(b, rotated);
  Geqp3(qr, absl::MakeSpan(pivots), absl::MakeSpan(taus));
  Ormqr(qr.AsConst(), absl::MakeConstSpan(taus), rotated, /*left=*/true, /*adjoint=*/true);
  int64_t rank = 0;
  const double least = std::numeric_limits<double>::epsilon() * static_cast<double>(k);
  while (rank < k && !(std::abs(qr(rank, rank)) <= least * std::abs(qr(0, 0)))) ++rank;

  // r^H = z [s; 0], and so p^H x = z [s^-H q^H b; 0].
  std::vector<T> rows_elements(n * rank), solution_elements(n * count), row_taus(rank);
  const auto rows = Matrix<T>::Dense(rows_elements.data(), n, rank);
  const auto solution = Matrix<T>::Dense(solution_elements.data(), n, count);
  for (int64_t i = 0; i < rank; ++i) {
    for (int64_t j = i; j < n; ++j) rows(j, i) = Conj(qr(i, j));
  }
  Geqrf(rows, absl::MakeSpan(row_taus));
  Copy(rotated.Block(0, 0, rank, count).AsConst(), solution);
  HLO_RETURN_IF_ERROR(Trsm(rows.Block(0, 0, rank, rank).AsConst(), solution.Block(0, 0, rank, count),
                           {.lower = false, .op = MatrixOp::kAdjoint}));
  Ormqr(rows.AsConst(), absl::MakeConstSpan(row_taus), solution, /*left=*/true, /*adjoint=*/false);
  for (int64_t j = 0; j < n; ++j)
    Copy(solution.Block(j, 0, 1, count).AsConst(), x.Block(pivots[j] - 1, 0, 1, count));
  return absl::OkStatus();
}

#define HLO_INSTANTIATE(T)                                                        \
  template absl::StatusOr<int64_t> Potrf(Matrix<T>, bool);                        \
  template int64_t Getrf(Matrix<T>, absl::Span<int64_t>);                         \
  template absl::Status Trsm(Matrix<const T>, Matrix<T>, const TriangleOptions&); \
  template int64_t Gtsv(absl::Span<T>, absl::Span<T>, absl::Span<T>, Matrix<T>);  \
  template absl::Status LeastSquares(Matrix<const T>, Matrix<const T>, Matrix<T>);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(std::complex<double>)
#undef HLO_INSTANTIATE

}  // namespace hlo::reference::lapack
