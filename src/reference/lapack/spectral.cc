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

Complex& LargestOf(const Matrix<Complex>& x) {
  int64_t largest = 0;
  for (int64_t i = 1; i < x.rows; ++i) {
    if (std::abs(x(i, 0)) > std::abs(x(largest, 0))) largest = i;
  }
  return x(largest, 0);
}

// Makes the norm of a column 1 and its largest component real and positive.
void Normalise(const Matrix<Complex>& x) {
  Complex& largest = LargestOf(x);
  const double size = std::abs(largest);
  if (!(size > 0)) return;
  double squares = 0;
  for (int64_t i = 0; i < x.rows; ++i) squares += std::norm(x(i, 0) /= size);
  const Complex factor = std::conj(largest) / std::sqrt(squares);
  for (int64_t i = 0; i < x.rows; ++i) x(i, 0) *= factor;
  largest = largest.real();
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

// Returns a factor of modulus 1 that makes x LAPACK's eigenvector of a multiple. In the basis of the columns
// of z, LAPACK sets the vector's component k, for a 2 x 2 block the first one, to a real number.
Complex LapackFactor(const RealForm& form, const Matrix<Complex>& x, int64_t k, bool is_real, bool is_left) {
  Complex component = 0;
  for (int64_t i = 0; i < x.rows; ++i) component += form.z(i, k) * x(i, 0);
  const double size = std::abs(component);
  if (size == 0) return 1;
  double number = 1;
  if (!is_real) {
    const double above = form.t(k, k + 1), below = form.t(k + 1, k);
    const bool by_above = std::abs(above) >= std::abs(below);
    if (is_left && by_above) number = above;
    if (!is_left && !by_above) number = -below;
  }
  return std::conj(component) / std::copysign(size, number);
}

// Multiplies row i of the vectors by scales[i], and normalises them. Vectors of real matrices keep the sign
// of their largest component; those of real eigenvalues are made real, and those of conjugate pairs
// conjugate.
void Finish(const RealForm* form, absl::Span<const double> scales, absl::Span<const Complex> w,
            const Matrix<Complex>& vectors, bool is_left) {
  if (vectors.data == nullptr) return;
  for (int64_t j = 0; j < vectors.columns; ++j) {
    const Matrix<Complex> x = vectors.Column(j);
    const bool is_real = w[j].imag() == 0;
    if (form != nullptr && w[j].imag() < 0 && j > 0) {
      for (int64_t i = 0; i < x.rows; ++i) x(i, 0) = std::conj(vectors(i, j - 1));
      continue;
    }
    const Complex factor = form == nullptr ? 1 : LapackFactor(*form, x, j, is_real, is_left);
    for (int64_t i = 0; i < x.rows; ++i) x(i, 0) *= factor * scales[i];
    const double sign = form == nullptr ? 1 : std::copysign(1.0, LargestOf(x).real());
    Normalise(x);
    for (int64_t i = 0; i < x.rows; ++i) x(i, 0) *= sign;
    if (form != nullptr && is_real) MakeReal(x);
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

// gebal with job S: returns powers of two d for which the rows and columns of a(i, j) d[j] / d[i] have about
// equal norms, and scales a. A matrix with isolated eigenvalues, which permutations would split, is left
// unchanged.
template <class T>
std::vector<double> Balance(const Matrix<T>& a) {
  constexpr double kLimit = 0x1p900, kGain = 0.95;
  const int64_t n = a.rows;
  std::vector<double> scales(n, 1);
  const auto norm = [n](const Matrix<T>& line, int64_t besides) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += i == besides ? 0 : std::norm(line(i, 0));
    return std::sqrt(squares);
  };
  const auto column = [&](int64_t i) { return a.Column(i); };
  const auto row = [&](int64_t i) { return a.Transposed().Column(i); };
  for (int64_t i = 0; i < n; ++i) {
    if (norm(column(i), i) == 0 || norm(row(i), i) == 0) return scales;
  }
  for (bool changes = true; changes;) {
    changes = false;
    for (int64_t i = 0; i < n; ++i) {
      double c = norm(column(i), -1), r = norm(row(i), -1), f = 1;
      const double sum = c + r;
      if (!(c > 1 / kLimit && r > 1 / kLimit && c < kLimit && r < kLimit)) continue;
      for (; c < r / 2; c *= 2, r /= 2) f *= 2;
      for (; c / 2 >= r; c /= 2, r *= 2) f /= 2;
      if (c + r >= kGain * sum) continue;
      scales[i] *= f;
      changes = true;
      for (int64_t j = 0; j < n; ++j) a(i, j) /= f;
      for (int64_t j = 0; j < n; ++j) a(j, i) *= f;
    }
  }
  return scales;
}

// Computes the Schur form of a as a complex matrix, and that of a real matrix as a real one, too.
int64_t ComplexForm(const Matrix<double>& a, bool single, const RealForm& form, const Matrix<Complex>& t,
                    const Matrix<Complex>& z, absl::Span<Complex> w) {
  EachElement(a, [&](int64_t i, int64_t j) { form.t(i, j) = a(i, j); });
  const int64_t info = Gees(form.t, form.z, w, single);
  EachElement(a, [&](int64_t i, int64_t j) {
    t(i, j) = form.t(i, j);
    z(i, j) = form.z(i, j);
  });
  if (info == 0) MakeTriangular(t, z, w);
  return info;
}
int64_t ComplexForm(const Matrix<Complex>& a, bool single, const RealForm&, const Matrix<Complex>& t,
                    const Matrix<Complex>& z, absl::Span<Complex> w) {
  EachElement(a, [&](int64_t i, int64_t j) { t(i, j) = a(i, j); });
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
  const Owned<T> balanced(n, n);
  EachElement(a, [&](int64_t i, int64_t j) { balanced.view(i, j) = scale * a(i, j); });
  std::vector<double> scales(n, 1);
  if (std::isfinite(LargestElement(a))) scales = Balance(balanced.view);
  if (ComplexForm(balanced.view, single, form, t, z.view, w) != 0) return NoSolution(w, left, right);
  EigenvectorsOf(t, z.view, right);
  if (left.data != nullptr) {
    // The left eigenvectors are the right ones of the adjoint, whose Schur form is the reversed adjoint of t.
    const Owned<Complex> rows(n, n);
    EachElement(t, [&](int64_t i, int64_t j) { rows.view(i, j) = std::conj(t(i, j)); });
    EigenvectorsOf(Reversed(rows.view.Transposed()), ReversedColumns(z.view), ReversedColumns(left));
  }
  Finish(kIsReal ? &form : nullptr, scales, w, right, /*is_left=*/false);
  for (double& d : scales) d = 1 / d;
  Finish(kIsReal ? &form : nullptr, scales, w, left, /*is_left=*/true);
  for (Complex& eigenvalue : w) eigenvalue /= scale;
  return 0;
}

template int64_t Geev(Matrix<const double>, absl::Span<Complex>, Matrix<Complex>, Matrix<Complex>, bool);
template int64_t Geev(Matrix<const Complex>, absl::Span<Complex>, Matrix<Complex>, Matrix<Complex>, bool);

}  // namespace hlo::reference::lapack
