#pragma once
// This file declares triangular factorisations and solvers of linear systems.

#include "absl/types/span.h"
#include "linalg/matrix.h"

namespace hlo::linalg {

// potrf: factors a = l l^H in the lower triangle, or a = u^H u in the upper one; the other triangle is
// unchanged. Returns 0, or the order of the first leading minor that is not positive.
template <class T>
int64_t Potrf(Matrix<T> a, bool lower);

// getrf: factors a = P l u with partial pivoting; pivots[i] is the row (from 0) that was swapped with row i.
// Returns 0, or the number (from 1) of the first zero pivot.
template <class T>
int64_t Getrf(Matrix<T> a, absl::Span<int64_t> pivots);

enum class Op { kNone, kTranspose, kAdjoint };
struct TriangleOptions {
  bool left = true, lower = true, unit_diagonal = false;
  Op op = Op::kNone;
};
// trsm: replaces b by x with op(a) x = b, or x op(a) = b if not `left`. Only one triangle of a is read.
template <class T>
void Trsm(Matrix<const T> a, Matrix<T> b, const TriangleOptions& options);

// gtsv: solves a tridiagonal system by elimination with partial pivoting. The diagonal and the n - 1 elements
// below and above it are overwritten as in LAPACK. Returns the same codes as Getrf.
template <class T>
int64_t Gtsv(absl::Span<T> below, absl::Span<T> diagonal, absl::Span<T> above, Matrix<T> b);

// Computes the least-squares solution x of minimal norm.
template <class T>
void LeastSquares(Matrix<const T> a, Matrix<const T> b, Matrix<T> x);

}  // namespace hlo::linalg
