#include "linalg/spectral.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/eigen.h"
#include "linalg/schur.h"

namespace hlo::linalg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
int64_t NoSolution(Matrix<T> values) {
  if (values.data != nullptr) Map(values).setConstant(T(kNan));
  return 1;
}

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

// Brings a 2 x 2 block with complex eigenvalues into standard form, with equal diagonal elements. Its
// eigenvalues are t(j, j) +- i sqrt(-t(j, j+1) t(j+1, j)).
void Standardise(Matrix<double> t, Matrix<double> z, int64_t j) {
  const double difference = t(j, j) - t(j + 1, j + 1);
  if (difference == 0) return;
  // tan(2 angle) follows from difference cos(2 angle) + (b + c) sin(2 angle) = 0.
  const double angle = 0.5 * std::atan2(difference, -(t(j, j + 1) + t(j + 1, j)));
  Rotate<double>(t, z, j, std::cos(angle), std::sin(angle));
  const double mean = 0.5 * (t(j, j) + t(j + 1, j + 1));
  t(j, j) = t(j + 1, j + 1) = mean;
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

// Solves (t - t(k, k)) x = 0 with x(k) = 1, from row k upwards. Equal eigenvalues are perturbed by a rounding
// error. x must be 0 initially.
template <class Column>
void BackSubstitute(const EigenMatrix<Complex>& t, int64_t k, double least, Column&& x) {
  x(k) = 1;
  for (int64_t j = k; j > 0; --j) {
    x.head(j) -= x(j) * t.col(j).head(j);
    Complex divisor = t(j - 1, j - 1) - t(k, k);
    if (std::abs(divisor) < least) divisor = least;
    x(j - 1) /= divisor;
    const double largest = std::abs(x(j - 1));
    if (largest > 1e150) x.head(k + 1) /= largest;
  }
}

template <class Column>
void Normalise(Column&& x) {
  Eigen::Index largest = 0;
  x.cwiseAbs().maxCoeff(&largest);
  const double size = std::abs(x(largest));
  if (!(size > 0)) return;
  x *= std::conj(x(largest)) / size;
  x /= x.stableNorm();
  x(largest) = x(largest).real();
}

// Returns the eigenvectors of z t z^H for triangular t.
EigenMatrix<Complex> Vectors(const EigenMatrix<Complex>& t, const EigenMatrix<Complex>& z) {
  constexpr int64_t kBlock = 64;
  const int64_t n = t.rows();
  const double least = std::max(t.cwiseAbs().maxCoeff() * std::numeric_limits<double>::epsilon(),
                                std::numeric_limits<double>::min());
  EigenMatrix<Complex> x = EigenMatrix<Complex>::Zero(n, n), vectors(n, n);
  for (int64_t k = 0; k < n; ++k) BackSubstitute(t, k, least, x.col(k));
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin), end = begin + count;
    vectors.middleCols(begin, count).noalias() = z.leftCols(end) * x.block(0, begin, end, count);
  }
  for (int64_t k = 0; k < n; ++k) Normalise(vectors.col(k));
  return vectors;
}

// The left eigenvectors are the right ones of the adjoint, whose Schur form is the reversed adjoint of t.
EigenMatrix<Complex> LeftVectors(const EigenMatrix<Complex>& t, const EigenMatrix<Complex>& z) {
  return Vectors(t.adjoint().reverse(), z.rowwise().reverse()).rowwise().reverse();
}

// Makes vectors of real eigenvalues of real matrices real, and those of conjugate pairs conjugate.
void MakeConsistent(absl::Span<const Complex> w, Matrix<Complex> vectors) {
  for (int64_t j = 0; j < vectors.columns; ++j) {
    auto column = Map(vectors.Column(j));
    if (w[j].imag() == 0)
      column = Eigen::VectorXcd(column.real().cast<Complex>());
    else if (w[j].imag() < 0 && j > 0)
      column = Eigen::VectorXcd(Map(vectors.Column(j - 1)).conjugate());
  }
}

// Computes the Schur form as a complex matrix.
int64_t ComplexForm(Matrix<const double> a, Matrix<Complex> t, Matrix<Complex> z, absl::Span<Complex> w) {
  EigenMatrix<double> real = Map(a), basis(a.rows, a.rows);
  const int64_t n = a.rows;
  const int64_t info = Gees({real.data(), n, n, 1, n}, {basis.data(), n, n, 1, n}, w);
  Map(t) = real.cast<Complex>();
  Map(z) = basis.cast<Complex>();
  if (info == 0) MakeTriangular(t, z, w);
  return info;
}
int64_t ComplexForm(Matrix<const Complex> a, Matrix<Complex> t, Matrix<Complex> z, absl::Span<Complex> w) {
  Map(t) = EigenMatrix<Complex>(Map(a));
  return Gees(t, z, w);
}

template <class T>
bool AllFinite(const Matrix<T>& a) {
  return Map(a).allFinite();
}

}  // namespace

template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w) {
  if (a.rows == 0) return 0;
  // The solver reads the lower triangle. The upper triangle of a Hermitian matrix is its adjoint.
  EigenMatrix<T> matrix = Map(a);
  if (!lower) matrix = EigenMatrix<T>(matrix.adjoint());
  const bool finite = EigenMatrix<T>(matrix.template triangularView<Eigen::Lower>()).allFinite();
  Eigen::SelfAdjointEigenSolver<EigenMatrix<T>> solver;
  if (finite) solver.compute(matrix);
  if (!finite || solver.info() != Eigen::Success) {
    std::fill(w.begin(), w.end(), kNan);
    return NoSolution(a);
  }
  for (size_t i = 0; i < w.size(); ++i) w[i] = solver.eigenvalues()(static_cast<Eigen::Index>(i));
  Map(a) = solver.eigenvectors();
  return 0;
}

namespace {

// Computes t = z^H t z with Eigen's `Schur`.
template <class Schur, class T>
int64_t SchurForm(Matrix<T> t, Matrix<T> z, absl::Span<Complex> eigenvalues, bool single) {
  // If the leading dimension is a multiple of 512 bytes, rows map to few cache sets. Padding with a row and a
  // column of zeros, which only adds an isolated eigenvalue, is several times faster.
  if (t.rows <= kLargestSmallSchur && AllFinite(t)) {
    const EigenMatrix<T> before = Map(t);
    if (SmallSchur(t, z, single)) return 0;
    Map(t) = before;
  }
  const int64_t n = t.rows, size = n >= 64 && n * sizeof(T) % 512 == 0 ? n + 1 : n;
  Schur schur(size);
  const bool finite = AllFinite(t);
  if (finite) {
    EigenMatrix<T> matrix = EigenMatrix<T>::Zero(size, size);
    matrix.topLeftCorner(n, n) = Map(t);
    schur.compute(matrix);
  }
  if (!finite || schur.info() != Eigen::Success) {
    std::fill(eigenvalues.begin(), eigenvalues.end(), Complex(kNan, 0));
    NoSolution(z);
    return NoSolution(t);
  }
  Map(t) = schur.matrixT().topLeftCorner(n, n);
  Map(z) = schur.matrixU().topLeftCorner(n, n);
  return 0;
}

}  // namespace

int64_t Gees(Matrix<double> t, Matrix<double> z, absl::Span<Complex> eigenvalues, bool single) {
  if (t.rows == 0) return 0;
  if (const int64_t info = SchurForm<Eigen::RealSchur<EigenMatrix<double>>>(t, z, eigenvalues, single);
      info != 0)
    return info;
  for (int64_t j = 0; j + 1 < t.rows; ++j) {
    if (t(j + 1, j) != 0) Standardise(t, z, j++);
  }
  ReadEigenvalues(t, eigenvalues);
  return 0;
}

int64_t Gees(Matrix<Complex> t, Matrix<Complex> z, absl::Span<Complex> eigenvalues, bool single) {
  if (t.rows == 0) return 0;
  if (const int64_t info = SchurForm<Eigen::ComplexSchur<EigenMatrix<Complex>>>(t, z, eigenvalues, single);
      info != 0)
    return info;
  for (int64_t j = 0; j < t.rows; ++j) {
    eigenvalues[j] = t(j, j);
    for (int64_t i = j + 1; i < t.rows; ++i) t(i, j) = 0;
  }
  return 0;
}

template <class T>
int64_t Geev(Matrix<const T> a, absl::Span<Complex> w, Matrix<Complex> left, Matrix<Complex> right) {
  const int64_t n = a.rows;
  if (n == 0) return 0;
  EigenMatrix<Complex> t(n, n), z(n, n);
  const Matrix<Complex> form{t.data(), n, n, 1, n}, basis{z.data(), n, n, 1, n};
  if (ComplexForm(a, form, basis, w) != 0) {
    NoSolution(left);
    return NoSolution(right);
  }
  if (right.data != nullptr) Map(right) = Vectors(t, z);
  if (left.data != nullptr) Map(left) = LeftVectors(t, z);
  if constexpr (std::is_same_v<T, double>) {
    if (right.data != nullptr) MakeConsistent(w, right);
    if (left.data != nullptr) MakeConsistent(w, left);
  }
  return 0;
}

#define HLO_INSTANTIATE(T)                                     \
  template int64_t Syevd(Matrix<T>, bool, absl::Span<double>); \
  template int64_t Geev(Matrix<const T>, absl::Span<Complex>, Matrix<Complex>, Matrix<Complex>);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::linalg
