// Cholesky factorisation and triangular solve (semantics 6.6, 6.7). The last two dimensions are matrices, the
// others a batch.

#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "reference/arrays.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

double Conjugate(double x) { return x; }
std::complex<double> Conjugate(std::complex<double> x) { return std::conj(x); }

// A matrix in an array, optionally transposed.
template <class T>
struct Matrix {
  T* data;
  int64_t row_stride, column_stride;

  Matrix(T* start, int64_t columns, bool transposed)
      : data(start), row_stride(transposed ? 1 : columns), column_stride(transposed ? columns : 1) {}
  T& operator()(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
};

// Computes l with l l^H = a from the lower triangle of a; returns false if a is not positive definite.
template <class T>
absl::StatusOr<bool> Factor(const Matrix<const T>& a, int64_t n, const Matrix<T>& l) {
  Pace pace;
  for (int64_t j = 0; j < n; ++j) {
    double d = std::real(a(j, j));
    for (int64_t k = 0; k < j; ++k) d -= std::norm(l(j, k));
    if (!(d >= 0)) return false;
    l(j, j) = std::sqrt(d);
    for (int64_t i = j + 1; i < n; ++i) {
      HLO_RETURN_IF_ERROR(pace.Spend(j));
      T sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= l(i, k) * Conjugate(l(j, k));
      l(i, j) = sum / std::real(l(j, j));
    }
  }
  return true;
}

template <class T>
absl::StatusOr<Literal> FactorEach(const Literal& array, bool lower, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::CreateZeros(array.shape()));
  const int64_t n = array.dim(array.rank() - 1);
  for (int64_t at = 0; at < array.element_count(); at += n * n) {
    T* out = result.mutable_span<T>().data() + at;
    // The upper factor is the transposed lower factor of the transpose.
    const Matrix<const T> a(array.span<T>().data() + at, n, !lower);
    HLO_ASSIGN_OR_RETURN(const bool is_definite, Factor<T>(a, n, Matrix<T>(out, n, !lower)));
    if (!is_definite) std::fill_n(out, n * n, std::numeric_limits<double>::quiet_NaN());
  }
  return Rounded(result, shape);
}

// Returns element (i, j) of op(A) for `transpose_a`.
template <class T>
struct Triangle {
  Matrix<const T> a;
  bool conjugate, lower, unit_diagonal;

  T operator()(int64_t i, int64_t j) const { return conjugate ? Conjugate(a(i, j)) : a(i, j); }
};

// Solves op(a) x = b in place for each of `columns` columns, by forward substitution if op(a) is lower
// triangular, otherwise by back substitution.
template <class T>
absl::Status Substitute(const Triangle<T>& a, int64_t n, const Matrix<T>& x, int64_t columns) {
  Pace pace;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t step = 0; step < n; ++step) {
      HLO_RETURN_IF_ERROR(pace.Spend(step));
      const int64_t i = a.lower ? step : n - 1 - step;
      const int64_t begin = a.lower ? 0 : i + 1, end = a.lower ? i : n;
      T sum = x(i, c);
      for (int64_t k = begin; k < end; ++k) sum -= a(i, k) * x(k, c);
      x(i, c) = a.unit_diagonal ? sum : sum / a(i, i);
    }
  }
  return absl::OkStatus();
}

template <class T>
absl::StatusOr<Literal> SolveEach(const Literal& a, Literal b, const Instruction& instruction) {
  HLO_RETURN_IF_ERROR(b.MakeUnique());
  const bool left = instruction.Get<attr::left_side>();
  const TransposeA op = instruction.Get<attr::transpose_a>();
  // X op(A) = B is equivalent to op(A)^T X^T = B^T.
  const bool transposed = (op == TransposeA::kTranspose || op == TransposeA::kAdjoint) == left;
  const int64_t n = a.dim(a.rank() - 1), columns = b.dim(b.rank() - 1);
  const int64_t b_size = b.dim(b.rank() - 2) * columns;
  const int64_t others = left ? columns : b.dim(b.rank() - 2);
  const bool lower = instruction.Get<attr::lower>() != transposed;
  for (int64_t m = 0; b.element_count() > 0 && m < b.element_count() / b_size; ++m) {
    const Matrix<const T> matrix(a.span<T>().data() + m * n * n, n, transposed);
    const Matrix<T> x(b.mutable_span<T>().data() + m * b_size, columns, !left);
    const Triangle<T> triangle{matrix, op == TransposeA::kAdjoint, lower,
                               instruction.Get<attr::unit_diagonal>()};
    HLO_RETURN_IF_ERROR(Substitute<T>(triangle, n, x, others));
  }
  return Rounded(b, instruction.shape());
}

}  // namespace

// Returns the triangular factor of each matrix; the other triangle is zero. A matrix that is not positive
// definite gives NaN everywhere.
absl::StatusOr<Literal> Cholesky(OpContext& context) {
  const bool lower = context.instruction.Get<attr::lower>();
  const bool complex = IsComplex(context.operands[0].type());
  HLO_ASSIGN_OR_RETURN(const Literal a,
                       Widened(context.operands[0], complex ? ElementType::kC128 : ElementType::kF64));
  if (complex) return FactorEach<std::complex<double>>(a, lower, context.shape());
  return FactorEach<double>(a, lower, context.shape());
}

// Solves op(A) X = B for X, or X op(A) = B if left_side is false. Only one triangle of A is read.
absl::StatusOr<Literal> TriangularSolve(OpContext& context) {
  const bool complex = IsComplex(context.operands[0].type());
  const ElementType type = complex ? ElementType::kC128 : ElementType::kF64;
  HLO_ASSIGN_OR_RETURN(const Literal a, Widened(context.operands[0], type));
  HLO_ASSIGN_OR_RETURN(Literal b, Widened(context.operands[1], type));
  if (complex) return SolveEach<std::complex<double>>(a, std::move(b), context.instruction);
  return SolveEach<double>(a, std::move(b), context.instruction);
}

}  // namespace hlo::reference
