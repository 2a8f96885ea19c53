// Eigenvalues of Hermitian matrices: reduction to tridiagonal form and implicit QR steps.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "reference/lapack/householder.h"
#include "reference/lapack/owned.h"
#include "reference/lapack/spectral.h"

namespace hlo::reference::lapack {
namespace {

// Off-diagonal elements of this size are negligible in a matrix of norm 1, independently of its diagonal.
constexpr double kMinOffDiagonal = 1e-200;

// A tridiagonal matrix. The rotations of its rows and columns are applied to the rows of `vectors`.
template <class T>
struct Tridiagonal {
  std::vector<double> diagonal, off_diagonal;
  Matrix<T> vectors;

  bool IsNegligible(int64_t k) const {
    const double size = std::abs(diagonal[k]) + std::abs(diagonal[k + 1]);
    return std::abs(off_diagonal[k]) <=
           std::max(kMinOffDiagonal, std::numeric_limits<double>::epsilon() / 2 * size);
  }

  // Returns the eigenvalue of the last 2 x 2 block that is nearer to its last element (Wilkinson's shift).
  double Shift(int64_t end) const {
    const double b = off_diagonal[end - 1], half = (diagonal[end - 1] - diagonal[end]) / 2;
    return diagonal[end] - b / (half + std::copysign(std::hypot(half, b), half)) * b;
  }

  // Performs a QR step on rows begin to end, whose off-diagonal elements are not negligible.
  void Step(int64_t begin, int64_t end) {
    double x = diagonal[begin] - Shift(end), bulge = off_diagonal[begin];
    for (int64_t k = begin; k < end; ++k) {
      const double norm = std::hypot(x, bulge), c = norm == 0 ? 1 : x / norm,
                   s = norm == 0 ? 0 : bulge / norm;
      if (k > begin) off_diagonal[k - 1] = norm;
      const double first = diagonal[k], second = diagonal[k + 1], b = off_diagonal[k];
      const double moved = s * (s * (second - first) + 2 * c * b);
      diagonal[k] = first + moved;
      diagonal[k + 1] = second - moved;
      x = off_diagonal[k] = c * s * (second - first) + (c - s) * (c + s) * b;
      if (k + 1 < end) {
        bulge = s * off_diagonal[k + 1];
        off_diagonal[k + 1] *= c;
      }
      T *row = &vectors(k, 0), *next = &vectors(k + 1, 0);
      for (int64_t j = 0; j < vectors.columns; ++j) {
        const T y = row[j], z = next[j];
        row[j] = c * y + s * z;
        next[j] = c * z - s * y;
      }
    }
  }

  // Makes the matrix diagonal; returns false if the iteration does not converge.
  bool Diagonalise() {
    const auto n = static_cast<int64_t>(diagonal.size());
    int64_t left = 30 * n;
    for (int64_t end = n - 1; end > 0;) {
      int64_t begin = end;
      while (begin > 0 && !IsNegligible(begin - 1)) --begin;
      if (begin == end) {
        --end;
        continue;
      }
      if (left-- == 0) return false;
      Step(begin, end);
    }
    return true;
  }
};

// Computes the tridiagonal form q^H a q from the lower triangle of a, which is overwritten, and q^T.
template <class T>
Tridiagonal<T> TridiagonalForm(const Matrix<T>& a, const Matrix<T>& transposed) {
  const int64_t n = a.rows;
  Tridiagonal<T> form{std::vector<double>(n), std::vector<double>(n - 1), transposed};
  std::vector<T> taus(n - 1);
  Sytrd(a, /*lower=*/true, absl::MakeSpan(form.diagonal), absl::MakeSpan(form.off_diagonal),
        absl::MakeSpan(taus));
  Fill<T>(transposed, 0, 1);
  const Matrix<T> q = transposed.Transposed().Block(1, 1, n - 1, n - 1);
  EachElement(q, [&](int64_t i, int64_t j) {
    if (i > j) q(i, j) = a(i + 1, j);
  });
  Orgqr(q, absl::MakeConstSpan(taus));
  return form;
}

// Returns LAPACK's eigenvectors of a multiple of the tridiagonal matrix if it is small.
template <class T>
VectorList SignedVectors(const Tridiagonal<T>& form, double scale, RealPrecision precision) {
  std::vector<double> diagonal = form.diagonal, off_diagonal = form.off_diagonal;
  for (double& x : diagonal) x *= scale;
  for (double& x : off_diagonal) x *= scale;
  return SteqrVectors(static_cast<int64_t>(diagonal.size()), diagonal.data(), off_diagonal.data(), precision);
}

// Negates the columns of a that have another sign than q z for the vector z of their number.
template <class T>
void SetSigns(const Matrix<T>& a, const Matrix<T>& q, const VectorList& wanted) {
  for (int64_t k = 0; !wanted.empty() && k < a.columns; ++k) {
    T product = 0;
    EachElement(q, [&](int64_t i, int64_t j) { product += Conj(a(i, k)) * q(i, j) * wanted.at(k)[j]; });
    if (std::real(product) >= 0) continue;
    for (int64_t i = 0; i < a.rows; ++i) a(i, k) = -a(i, k);
  }
}

}  // namespace

template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w, RealPrecision precision) {
  const int64_t n = a.rows;
  if (n == 0) return 0;
  Owned<T> triangle(n, n), vectors(n, n);
  EachElement(a, [&](int64_t i, int64_t j) {
    if (i >= j) triangle.view(i, j) = lower ? a(i, j) : Conj(a(j, i));
  });
  const double largest = LargestElement(triangle.view);
  if (!std::isfinite(largest)) return NoSolution(w, a);
  const double scale = largest == 0 ? 1 : largest;
  for (T& element : triangle.elements) element /= scale;
  Tridiagonal<T> form = TridiagonalForm(triangle.view, vectors.view);
  const VectorList wanted = SignedVectors(form, scale, precision);
  std::vector<T> reflectors = vectors.elements;
  if (!form.Diagonalise()) return NoSolution(w, a);

  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return form.diagonal[i] < form.diagonal[j]; });
  for (int64_t k = 0; k < n; ++k) {
    w[k] = form.diagonal[order[k]] * scale;
    for (int64_t i = 0; i < n; ++i) a(i, k) = vectors.view(order[k], i);
  }
  SetSigns(a, Matrix<T>::Dense(reflectors.data(), n, n).Transposed(), wanted);
  return 0;
}

template int64_t Syevd(Matrix<double>, bool, absl::Span<double>, RealPrecision);
template int64_t Syevd(Matrix<Complex>, bool, absl::Span<double>, RealPrecision);

}  // namespace hlo::reference::lapack
