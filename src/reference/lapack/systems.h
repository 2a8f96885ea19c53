#pragma once
// This file declares triangular factorisations and solvers of linear systems.

#include <limits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "types/matrix.h"

namespace hlo::reference::lapack {

// potrf: factors a = l l^H in the lower triangle, or a = u^H u in the upper one; the other triangle is
// unchanged. Returns 0, or the order of the first leading minor that is not positive. Returns the status of
// Deadline::Check when it is due.
template <class T>
absl::StatusOr<int64_t> Potrf(Matrix<T> a, bool lower);

// Completes the lower factor of the opcode cholesky after a factorisation that returned `order`: sets
// elements above the diagonal to 0, or all to NaN if there is no factor. A last pivot of 0 is its own root.
template <class T>
void FinishCholesky(const Matrix<T>& l, int64_t order) {
  const bool exists = order == 0 || (order == l.rows && l(order - 1, order - 1) == T(0));
  for (int64_t i = 0; i < l.rows; ++i) {
    for (int64_t j = exists ? i + 1 : 0; j < l.columns; ++j)
      l(i, j) = exists ? 0 : std::numeric_limits<double>::quiet_NaN();
  }
}

// getrf: factors a = P l u with partial pivoting; pivots[i] is the row (from 0) that was swapped with row i.
// Returns 0, or the number (from 1) of the first zero pivot.
template <class T>
int64_t Getrf(Matrix<T> a, absl::Span<int64_t> pivots);

// trsm: replaces b by x with op(a) x = b, or x op(a) = b if not `left`. Only one triangle of a is read.
// Returns the status of Deadline::Check when it is due.
template <class T>
absl::Status Trsm(Matrix<const T> a, Matrix<T> b, const TriangleOptions& options);

// gtsv: solves a tridiagonal system by elimination with partial pivoting. The diagonal and the n - 1 elements
// below and above it are overwritten as in LAPACK. Returns the same codes as Getrf.
template <class T>
int64_t Gtsv(absl::Span<T> below, absl::Span<T> diagonal, absl::Span<T> above, Matrix<T> b);

// Computes the least-squares solution x of minimal norm.
template <class T>
absl::Status LeastSquares(Matrix<const T> a, Matrix<const T> b, Matrix<T> x);

}  // namespace hlo::reference::lapack
