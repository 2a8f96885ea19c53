#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/lapack/householder.h"
#include "reference/lapack/owned.h"
#include "reference/lapack/spectral.h"
#include "reference/lapack/svd_signs.h"

namespace hlo::reference::lapack {
namespace {

// The sum of conj(x(i, p)) x(i, q).
template <class T>
T ColumnDot(const Matrix<T>& x, int64_t p, int64_t q) {
  T sum = 0;
  for (int64_t i = 0; i < x.rows; ++i) sum += Conj(x(i, p)) * x(i, q);
  return sum;
}

template <class T>
void RotateColumns(const Matrix<T>& x, int64_t p, int64_t q, double c, double s, T phase) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const T first = x(i, p), second = Conj(phase) * x(i, q);
    x(i, p) = c * first - s * second;
    x(i, q) = s * first + c * second;
  }
}

// One-sided Jacobi: rotates pairs of columns of x until all are orthogonal, and the columns of w with them.
// Returns false if they do not become orthogonal.
template <class T>
bool Orthogonalise(const Matrix<T>& x, const Matrix<T>& w) {
  constexpr int kMaxSweeps = 60;
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const double tolerance = std::sqrt(static_cast<double>(x.rows)) * kEpsilon;
  // Shorter columns are zeros except for rounding errors, and never become orthogonal.
  double squares = 0;
  for (int64_t p = 0; p < x.columns; ++p) squares += std::real(ColumnDot(x, p, p));
  const double negligible = kEpsilon * kEpsilon * std::sqrt(squares);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotates = false;
    for (int64_t p = 0; p < x.columns; ++p) {
      for (int64_t q = p + 1; q < x.columns; ++q) {
        const double first = std::real(ColumnDot(x, p, p)), second = std::real(ColumnDot(x, q, q));
        const double length = std::sqrt(first), other = std::sqrt(second);
        if (std::min(length, other) <= negligible) continue;
        const T inner = ColumnDot(x, p, q);
        const double size = std::abs(inner);
        if (size <= tolerance * length * other) continue;
        rotates = true;
        const double zeta = (second - first) / (2 * size);
        const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta),
                     c = 1 / std::hypot(1, t);
        RotateColumns(x, p, q, c, c * t, inner / size);
        RotateColumns(w, p, q, c, c * t, inner / size);
      }
    }
    if (!rotates) return true;
  }
  return false;
}

// Computes the singular values and vectors of a matrix with at least as many rows as columns, by Jacobi
// rotations w of the columns of r^H: a p = q r, r^H w = x = z s, and so a = (q w) s (p z)^H.
template <class T>
bool Decompose(const Matrix<const T>& a, double scale, absl::Span<double> s, const Matrix<T>& u,
               const Matrix<T>& v) {
  const int64_t m = a.rows, n = a.columns;
  Owned<T> qr(m, n), x(n, n), w(n, n);
  std::vector<int64_t> pivots(n), order(n);
  std::vector<T> taus(n), row_taus(n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) qr.view(i, j) = a(i, j) / scale;
  }
  Geqp3(qr.view, absl::MakeSpan(pivots), absl::MakeSpan(taus));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) x.view(j, i) = Conj(qr.view(i, j));
  }
  Fill<T>(w.view, 0, 1);
  if (!Orthogonalise(x.view, w.view)) return false;

  // If the columns are in the order of their norms, their triangular factor is diagonal except for rounding
  // errors.
  std::vector<double> norms(n);
  for (int64_t j = 0; j < n; ++j) norms[j] = std::real(ColumnDot(x.view, j, j));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return norms[i] > norms[j]; });
  Owned<T> z(n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) z.view(i, j) = x.view(i, order[j]);
  }
  Geqrf(z.view, absl::MakeSpan(row_taus));
  std::vector<T> phases(n);
  for (int64_t j = 0; j < n; ++j) {
    const double size = std::abs(z.view(j, j));
    s[j] = size * scale;
    phases[j] = size == 0 ? T(1) : z.view(j, j) / size;
  }
  // Rounding may leave neighbours in the wrong order.
  for (int64_t j = n - 1; j > 0; --j) s[j - 1] = std::max(s[j - 1], s[j]);
  if (v.data != nullptr) {
    Orgqr(z.view, absl::MakeConstSpan(row_taus));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) v(pivots[i] - 1, j) = z.view(i, j) * phases[j];
    }
  }
  if (u.data != nullptr) {
    Owned<T> q(m, u.columns);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) q.view(i, j) = qr.view(i, j);
    }
    Orgqr(q.view, absl::MakeConstSpan(taus));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < u.columns; ++j) {
        T sum = j < n ? T(0) : q.view(i, j);
        for (int64_t k = 0; j < n && k < n; ++k) sum += q.view(i, k) * w.view(k, order[j]);
        u(i, j) = sum;
      }
    }
  }
  return true;
}

}  // namespace

template <class T>
int64_t Gesdd(Matrix<const T> a, absl::Span<double> s, Matrix<T> u, Matrix<T> v, RealPrecision precision) {
  const double scale = LargestElement(a);
  if (scale == 0) {
    std::fill(s.begin(), s.end(), 0.0);
    Fill<T>(u, 0, 1);
    Fill<T>(v, 0, 1);
    return 0;
  }
  bool solved = false;
  if (std::isfinite(scale)) {
    if (a.rows >= a.columns) {
      solved = Decompose(a, scale, s, u, v);
    } else {
      // The left singular vectors of the adjoint are the right ones of the matrix.
      Owned<T> adjoint(a.columns, a.rows);
      EachElement(a, [&](int64_t i, int64_t j) { adjoint.view(j, i) = Conj(a(i, j)); });
      solved = Decompose(adjoint.view.AsConst(), scale, s, v, u);
    }
  }
  if (!solved) return NoSolution(s, u, v);
  Owned<T> copy(a.rows, a.columns);
  EachElement(a, [&](int64_t i, int64_t j) { copy.view(i, j) = a(i, j); });
  SetFactors(copy.view, s, u, v, precision);
  return 0;
}

template int64_t Gesdd(Matrix<const double>, absl::Span<double>, Matrix<double>, Matrix<double>,
                       RealPrecision);
template int64_t Gesdd(Matrix<const Complex>, absl::Span<double>, Matrix<Complex>, Matrix<Complex>,
                       RealPrecision);

}  // namespace hlo::reference::lapack
