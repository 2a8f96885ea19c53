#pragma once
// Linear systems: triangular factors, and solutions by them.

#include "absl/types/span.h"
#include "linalg/matrix.h"

namespace hlo::linalg {

// potrf: l l^H = a in the lower triangle, or u^H u = a in the upper one; the other triangle stays. Returns 0,
// or the order of the first leading minor that is not positive.
template <class T>
int64_t Potrf(Matrix<T> a, bool lower);

// getrf: a = P l u with partial pivoting; pivots[i] is the row (from 0) that row i changed places with.
// Returns 0, or the number (from 1) of the first pivot that is zero.
template <class T>
int64_t Getrf(Matrix<T> a, absl::Span<int64_t> pivots);

enum class Op { kNone, kTranspose, kAdjoint };
struct TriangleOptions {
  bool left = true, lower = true, unit_diagonal = false;
  Op op = Op::kNone;
};
// trsm: b becomes x with op(a) x = b, or x op(a) = b where not `left`. One triangle of a is read.
template <class T>
void Trsm(Matrix<const T> a, Matrix<T> b, const TriangleOptions& options);

// gtsv: the system of a tridiagonal matrix, by elimination with partial pivoting. The diagonal and, from 0 to
// n-2, the diagonals below and above are overwritten as LAPACK does. Returns as Getrf.
template <class T>
int64_t Gtsv(absl::Span<T> below, absl::Span<T> diagonal, absl::Span<T> above, Matrix<T> b);

// The x of least norm among those that bring a x nearest to b.
template <class T>
void LeastSquares(Matrix<const T> a, Matrix<const T> b, Matrix<T> x);

}  // namespace hlo::linalg
