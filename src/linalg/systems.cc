#include "linalg/systems.h"

#include <Eigen/QR>
#include <cmath>
#include <utility>

#include "linalg/eigen.h"

namespace hlo::linalg {
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

// Calls solve with a triangular view of the matrix, or of its conjugate.
template <class T, class Solve>
void WithTriangle(Matrix<const T> a, bool lower, bool unit, bool conjugate, Solve&& solve) {
  const EigenMatrix<T> matrix = conjugate ? EigenMatrix<T>(Map(a).conjugate()) : EigenMatrix<T>(Map(a));
  if (lower && unit) return solve(matrix.template triangularView<Eigen::UnitLower>());
  if (lower) return solve(matrix.template triangularView<Eigen::Lower>());
  if (unit) return solve(matrix.template triangularView<Eigen::UnitUpper>());
  return solve(matrix.template triangularView<Eigen::Upper>());
}

}  // namespace

template <class T>
int64_t Potrf(Matrix<T> a, bool lower) {
  // The upper factor is the adjoint of the lower one; transposed access computes both.
  const auto at = [&](int64_t i, int64_t j) -> T& { return lower ? a(i, j) : a(j, i); };
  for (int64_t j = 0; j < a.rows; ++j) {
    double d = std::real(at(j, j));
    for (int64_t k = 0; k < j; ++k) d -= std::norm(at(j, k));
    at(j, j) = d;
    if (!(d > 0)) return j + 1;
    at(j, j) = std::sqrt(d);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * Conj(at(j, k));
      at(i, j) = sum / std::real(at(j, j));
    }
  }
  return 0;
}

template <class T>
int64_t Getrf(Matrix<T> a, absl::Span<int64_t> pivots) {
  auto matrix = Map(a);
  int64_t info = 0;
  for (int64_t j = 0; j < static_cast<int64_t>(pivots.size()); ++j) {
    pivots[j] = LargestFrom(a, j, j);
    if (a(pivots[j], j) == T(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (pivots[j] != j) matrix.row(j).swap(matrix.row(pivots[j]));
    const int64_t below = a.rows - j - 1, right = a.columns - j - 1;
    for (int64_t i = j + 1; i < a.rows; ++i) a(i, j) /= a(j, j);
    matrix.bottomRightCorner(below, right).noalias() -= matrix.col(j).tail(below) * matrix.row(j).tail(right);
  }
  return info;
}

template <class T>
void Trsm(Matrix<const T> a, Matrix<T> b, const TriangleOptions& options) {
  const bool swapped = options.op != Op::kNone;
  WithTriangle<T>(swapped ? a.Transposed() : a, options.lower != swapped, options.unit_diagonal,
                  options.op == Op::kAdjoint, [&](const auto& triangle) {
                    EigenMatrix<T> x = Map(b);
                    if (options.left)
                      triangle.template solveInPlace<Eigen::OnTheLeft>(x);
                    else
                      triangle.template solveInPlace<Eigen::OnTheRight>(x);
                    Map(b) = x;
                  });
}

template <class T>
int64_t Gtsv(absl::Span<T> below, absl::Span<T> diagonal, absl::Span<T> above, Matrix<T> b) {
  const auto n = static_cast<int64_t>(diagonal.size());
  auto right = Map(b);
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (PivotSize(diagonal[i]) >= PivotSize(below[i])) {
      if (diagonal[i] == T(0)) return i + 1;
      const T factor = below[i] / diagonal[i];
      diagonal[i + 1] -= factor * above[i];
      right.row(i + 1) -= factor * right.row(i);
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
    right.row(i).swap(right.row(i + 1));
    right.row(i + 1) -= factor * right.row(i);
  }
  if (n > 0 && diagonal[n - 1] == T(0)) return n;
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i + 1 < n) right.row(i) -= above[i] * right.row(i + 1);
    if (i + 2 < n) right.row(i) -= below[i] * right.row(i + 2);
    right.row(i) /= diagonal[i];
  }
  return 0;
}

template <class T>
void LeastSquares(Matrix<const T> a, Matrix<const T> b, Matrix<T> x) {
  Map(x) = Eigen::CompleteOrthogonalDecomposition<EigenMatrix<T>>(Map(a)).solve(EigenMatrix<T>(Map(b)));
}

#define HLO_INSTANTIATE(T)                                                       \
  template int64_t Potrf(Matrix<T>, bool);                                       \
  template int64_t Getrf(Matrix<T>, absl::Span<int64_t>);                        \
  template void Trsm(Matrix<const T>, Matrix<T>, const TriangleOptions&);        \
  template int64_t Gtsv(absl::Span<T>, absl::Span<T>, absl::Span<T>, Matrix<T>); \
  template void LeastSquares(Matrix<const T>, Matrix<const T>, Matrix<T>);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::linalg
