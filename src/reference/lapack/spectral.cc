#include "reference/lapack/spectral.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/lapack/owned.h"
#include "reference/lapack/schur.h"

namespace hlo::reference::lapack {
namespace {

// Rotates rows and columns j and j + 1: t = g^H t g, z = z g.
template <class T>
void Rotate(Matrix<T> t, Matrix<T> z, int64_t j, double c, T s) {
  const auto columns = [&](Matrix<T> m) {
    for (int64_t i = 0; i < m.rows; ++i) {
      const T x = m(i, j), y = m(i, j + 1);
      m(i, j) = c * x + Conj(s) * y;
      m(i, j + 1) = c * y - s * x;
    }
  };
  for (int64_t k = 0; k < t.columns; ++k) {
    const T x = t(j, k), y = t(j + 1, k);
    t(j, k) = c * x + s * y;
    t(j + 1, k) = c * y - Conj(s) * x;
  }
  columns(t);
  columns(z);
}

// Reads the eigenvalues from a real Schur form.
void ReadEigenvalues(Matrix<double> t, absl::Span<Complex> eigenvalues) {
  for (int64_t j = 0; j < t.rows; ++j) {
    eigenvalues[j] = t(j, j);
    if (j + 1 == t.rows || t(j + 1, j) == 0) continue;
    const double imaginary = std::sqrt(std::abs(t(j, j + 1))) * std::sqrt(std::abs(t(j + 1, j)));
    eigenvalues[j] = {t(j, j), imaginary};
    eigenvalues[j + 1] = std::conj(eigenvalues[j]);
    ++j;
  }
}

// Makes the 2 x 2 blocks of a real Schur form upper triangular.
void MakeTriangular(Matrix<Complex> t, Matrix<Complex> z, absl::Span<const Complex> eigenvalues) {
  for (int64_t j = 0; j + 1 < t.rows; ++j) {
    if (t(j + 1, j) == 0.0) continue;
    // (x, y) is an eigenvector of the block; the rotation brings it to (1, 0).
    const Complex x = eigenvalues[j] - t(j + 1, j + 1), y = t(j + 1, j);
    const double norm = std::hypot(std::abs(x), std::abs(y)), size = std::abs(x);
    if (norm == 0) continue;
    const double c = size / norm;
    const Complex phase = size == 0 ? Complex(1) : x / size;
    Rotate<Complex>(t, z, j, c, phase * std::conj(y) / norm);
    t(j + 1, j) = 0;
    t(j, j) = eigenvalues[j];
    t(j + 1, j + 1) = eigenvalues[j + 1];
  }
}

// Solves (t - t(k, k)) x = 0 with x[k] = 1, from row k upwards; the elements after it are 0. Equal
// eigenvalues are perturbed by a rounding error.
void BackSubstitute(const Matrix<Complex>& t, int64_t k, double least, Complex* x) {
  std::fill(x, x + t.rows, Complex(0));
  x[k] = 1;
  for (int64_t j = k; j > 0; --j) {
    for (int64_t i = 0; i < j; ++i) x[i] -= x[j] * t(i, j);
    Complex divisor = t(j - 1, j - 1) - t(k, k);
    if (std::abs(divisor) < least) divisor = least;
    x[j - 1] /= divisor;
    const double largest = std::abs(x[j - 1]);
    if (largest <= 1e150) continue;
    for (int64_t i = 0; i <= k; ++i) x[i] /= largest;
  }
}

// Makes the norm of a column 1 and its largest component real.
void Normalise(const Matrix<Complex>& x) {
  int64_t largest = 0;
  for (int64_t i = 1; i < x.rows; ++i) {
    if (std::abs(x(i, 0)) > std::abs(x(largest, 0))) largest = i;
  }
  const double size = std::abs(x(largest, 0));
  if (!(size > 0)) return;
  double squares = 0;
  for (int64_t i = 0; i < x.rows; ++i) squares += std::norm(x(i, 0) /= size);
  const Complex factor = std::conj(x(largest, 0)) / std::sqrt(squares);
  for (int64_t i = 0; i < x.rows; ++i) x(i, 0) *= factor;
  x(largest, 0) = x(largest, 0).real();
}

// Computes the eigenvectors of z t z^H for triangular t. Columns of t and rows of z are contiguous.
void EigenvectorsOf(const Matrix<Complex>& t, const Matrix<Complex>& z, const Matrix<Complex>& vectors) {
  if (vectors.data == nullptr) return;
  const double least = std::max(LargestElement(t) * std::numeric_limits<double>::epsilon(),
                                std::numeric_limits<double>::min());
  std::vector<Complex> x(t.rows);
  for (int64_t k = 0; k < t.rows; ++k) {
    BackSubstitute(t, k, least, x.data());
    for (int64_t i = 0; i < z.rows; ++i) {
      Complex sum = 0;
      for (int64_t j = 0; j <= k; ++j) sum += z(i, j) * x[j];
      vectors(i, k) = sum;
    }
    Normalise(vectors.Column(k));
  }
}

// Returns the matrix with both dimensions, or only the columns, reversed.
Matrix<Complex> Reversed(const Matrix<Complex>& a) {
  return {&a(a.rows - 1, a.columns - 1), a.rows, a.columns, -a.row_stride, -a.column_stride};
}
Matrix<Complex> ReversedColumns(const Matrix<Complex>& a) {
  return {&a(0, a.columns - 1), a.rows, a.columns, a.row_stride, -a.column_stride};
}

// Replaces an eigenvector of a real eigenvalue of a real matrix by its real part, which is an eigenvector,
// too, of norm 1. Imaginary parts are large if there are several eigenvectors.
void MakeReal(const Matrix<Complex>& x) {
  double squares = 0;
  for (int64_t i = 0; i < x.rows; ++i) squares += x(i, 0).real() * x(i, 0).real();
  const double norm = squares > 0 ? std::sqrt(squares) : 1;
  for (int64_t i = 0; i < x.rows; ++i) x(i, 0) = x(i, 0).real() / norm;
}

// The real Schur form a = z t z^T.
struct RealForm {
  Matrix<double> t, z;
};

// True if LAPACK's eigenvector has the opposite sign of x, whose largest component is real. In the basis of
// the columns of z, LAPACK sets the vector's component k, for a 2 x 2 block the first one, to a real number.
bool HasOppositeSign(const RealForm& form, const Matrix<Complex>& x, int64_t k, bool is_real, bool is_left) {
  double component = 0;
  for (int64_t i = 0; i < x.rows; ++i) component += form.z(i, k) * x(i, 0).real();
  if (is_real) return component < 0;
  const double above = form.t(k, k + 1), below = form.t(k + 1, k);
  const bool by_above = std::abs(above) >= std::abs(below);
  double number = 1;
  if (is_left && by_above) number = above;
  if (!is_left && !by_above) number = -below;
  return component * std::copysign(1.0, number) < 0;
}

// Makes vectors of real eigenvalues of real matrices real, and those of conjugate pairs conjugate, with the
// signs of LAPACK.
void MakeConsistent(const RealForm& form, absl::Span<const Complex> w, const Matrix<Complex>& vectors,
                    bool is_left) {
  if (vectors.data == nullptr) return;
  for (int64_t j = 0; j < vectors.columns; ++j) {
    const Matrix<Complex> x = vectors.Column(j);
    const bool is_real = w[j].imag() == 0;
    if (!is_real && w[j].imag() < 0 && j > 0) {
      for (int64_t i = 0; i < x.rows; ++i) x(i, 0) = std::conj(vectors(i, j - 1));
      continue;
    }
    if (is_real) MakeReal(x);
    if (!HasOppositeSign(form, x, j, is_real, is_left)) continue;
    for (int64_t i = 0; i < x.rows; ++i) x(i, 0) = -x(i, 0);
  }
}

// The range in which products of elements, by thresholds of this precision, neither overflow nor are
// negligible.
double LargestUnscaled(bool single) { return single ? 1e12 : 1e120; }

// Returns the power of two that makes the largest element about 1 if it is above this limit or below its
// inverse, else 1. Matrices that are not finite are not scaled.
template <class T>
double ScaleFor(const Matrix<T>& a, double limit) {
  const double largest = LargestElement(a);
  if (largest == 0 || !std::isfinite(largest) || (largest > 1 / limit && largest < limit)) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
}

// Computes the Schur form of a scaled matrix.
template <class T>
bool ScaledSchur(const Matrix<T>& t, const Matrix<T>& z, bool single) {
  const double scale = ScaleFor(t, LargestUnscaled(single));
  if (scale == 1) return Schur(t, z, single);
  EachElement(t, [&](int64_t i, int64_t j) { t(i, j) *= scale; });
  const bool converges = Schur(t, z, single);
  EachElement(t, [&](int64_t i, int64_t j) { t(i, j) /= scale; });
  return converges;
}

// Computes the Schur form of scale a as a complex matrix, and that of a real matrix as a real one, too.
int64_t ComplexForm(const Matrix<const double>& a, double scale, bool single, const RealForm& form,
                    const Matrix<Complex>& t, const Matrix<Complex>& z, absl::Span<Complex> w) {
  EachElement(a, [&](int64_t i, int64_t j) { form.t(i, j) = scale * a(i, j); });
  const int64_t info = Gees(form.t, form.z, w, single);
  EachElement(a, [&](int64_t i, int64_t j) {
    t(i, j) = form.t(i, j);
    z(i, j) = form.z(i, j);
  });
  if (info == 0) MakeTriangular(t, z, w);
  return info;
}
int64_t ComplexForm(const Matrix<const Complex>& a, double scale, bool single, const RealForm&,
                    const Matrix<Complex>& t, const Matrix<Complex>& z, absl::Span<Complex> w) {
  EachElement(a, [&](int64_t i, int64_t j) { t(i, j) = scale * a(i, j); });
  return Gees(t, z, w, single);
}

}  // namespace

int64_t Gees(Matrix<double> t, Matrix<double> z, absl::Span<Complex> eigenvalues, bool single) {
  if (t.rows == 0) return 0;
  if (!std::isfinite(LargestElement(t)) || !ScaledSchur(t, z, single)) return NoSolution(eigenvalues, t, z);
  ReadEigenvalues(t, eigenvalues);
  return 0;
}

int64_t Gees(Matrix<Complex> t, Matrix<Complex> z, absl::Span<Complex> eigenvalues, bool single) {
  if (t.rows == 0) return 0;
  if (!std::isfinite(LargestElement(t)) || !ScaledSchur(t, z, single)) return NoSolution(eigenvalues, t, z);
  EachElement(t, [&](int64_t i, int64_t j) {
    if (i > j) t(i, j) = 0;
    if (i == j) eigenvalues[j] = t(j, j);
  });
  return 0;
}

template <class T>
int64_t Geev(Matrix<const T> a, absl::Span<Complex> w, Matrix<Complex> left, Matrix<Complex> right,
             bool single) {
  constexpr bool kIsReal = std::is_same_v<T, double>;
  const int64_t n = a.rows;
  if (n == 0) return 0;
  const Owned<Complex> columns(n, n), z(n, n);
  const Matrix<Complex> t = columns.view.Transposed();
  const Owned<double> real_t(kIsReal ? n : 0, n), real_z(kIsReal ? n : 0, n);
  const RealForm form{real_t.view, real_z.view};
  const double scale = ScaleFor(a, LargestUnscaled(single));
  if (ComplexForm(a, scale, single, form, t, z.view, w) != 0) return NoSolution(w, left, right);
  EigenvectorsOf(t, z.view, right);
  if (left.data != nullptr) {
    // The left eigenvectors are the right ones of the adjoint, whose Schur form is the reversed adjoint of t.
    const Owned<Complex> rows(n, n);
    EachElement(t, [&](int64_t i, int64_t j) { rows.view(i, j) = std::conj(t(i, j)); });
    EigenvectorsOf(Reversed(rows.view.Transposed()), ReversedColumns(z.view), ReversedColumns(left));
  }
  if constexpr (kIsReal) {
    MakeConsistent(form, w, right, false);
    MakeConsistent(form, w, left, true);
  }
  for (Complex& eigenvalue : w) eigenvalue /= scale;
  return 0;
}

template int64_t Geev(Matrix<const double>, absl::Span<Complex>, Matrix<Complex>, Matrix<Complex>, bool);
template int64_t Geev(Matrix<const Complex>, absl::Span<Complex>, Matrix<Complex>, Matrix<Complex>, bool);

}  // namespace hlo::reference::lapack
