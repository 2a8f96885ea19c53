#include "linalg/householder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "linalg/eigen.h"

namespace hlo::linalg {
namespace {

template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

double Tau(double alpha, double beta) { return (beta - alpha) / beta; }
Complex Tau(Complex alpha, double beta) { return {(beta - alpha.real()) / beta, -alpha.imag() / beta}; }

// larfg: the reflector with H^H [alpha; x] = [beta; 0]. Leaves beta in alpha and v's tail in x; returns tau.
template <class T, class Tail>
T Reflector(T& alpha, Tail&& x) {
  const double tail = x.size() == 0 ? 0 : x.stableNorm();
  if (tail == 0 && std::imag(alpha) == 0) return T(0);
  const double norm = std::hypot(std::hypot(std::real(alpha), std::imag(alpha)), tail);
  const double beta = std::signbit(std::real(alpha)) ? norm : -norm;
  const T tau = Tau(alpha, beta);
  x /= alpha - beta;
  alpha = beta;
  return tau;
}

// Returns v of a reflector: 1 followed by its tail.
template <class T, class Tail>
Vector<T> WithOne(const Tail& tail) {
  Vector<T> v(tail.size() + 1);
  v(0) = T(1);
  v.tail(tail.size()) = tail;
  return v;
}

// Computes c = (1 - tau v v^H) c.
template <class T, class Target>
void ApplyLeft(const Vector<T>& v, T tau, Target&& c) {
  if (tau == T(0)) return;
  const Eigen::Matrix<T, 1, Eigen::Dynamic> row = v.adjoint() * c;
  c.noalias() -= tau * v * row;
}

// Computes c = c (1 - tau v v^H).
template <class T, class Target>
void ApplyRight(const Vector<T>& v, T tau, Target&& c) {
  if (tau == T(0)) return;
  const Vector<T> column = c * v;
  c.noalias() -= tau * column * v.adjoint();
}

// Zeroes the elements below (j, j) and applies the reflector to the following columns.
template <class T>
T Eliminate(Matrix<T> a, int64_t j) {
  auto matrix = Map(a);
  const int64_t below = a.rows - j - 1, right = a.columns - j - 1;
  const T tau = Reflector(a(j, j), matrix.col(j).tail(below));
  const Vector<T> v = WithOne<T>(matrix.col(j).tail(below));
  ApplyLeft<T>(v, Conj(tau), matrix.block(j, j + 1, below + 1, right));
  return tau;
}

// Returns the column at or after j with the largest norm from row j on.
template <class T>
int64_t LongestColumn(Matrix<T> a, int64_t j) {
  auto matrix = Map(a);
  int64_t best = j;
  double longest = -1;
  for (int64_t c = j; c < a.columns; ++c) {
    const double norm = matrix.col(c).tail(a.rows - j).stableNorm();
    if (norm > longest) {
      longest = norm;
      best = c;
    }
  }
  return best;
}

}  // namespace

template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus) {
  for (size_t j = 0; j < taus.size(); ++j) taus[j] = Eliminate(a, static_cast<int64_t>(j));
}

template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus) {
  auto matrix = Map(a);
  std::vector<int64_t> order(a.columns);
  std::iota(order.begin(), order.end(), 0);
  const auto swap_columns = [&](int64_t i, int64_t j) {
    if (i == j) return;
    matrix.col(i).swap(matrix.col(j));
    std::swap(order[i], order[j]);
  };
  int64_t fixed = 0;
  for (int64_t j = 0; j < a.columns; ++j) {
    if (pivots[j] != 0) swap_columns(fixed++, j);
  }
  for (int64_t j = 0; j < static_cast<int64_t>(taus.size()); ++j) {
    if (j >= fixed) swap_columns(j, LongestColumn(a, j));
    taus[j] = Eliminate(a, j);
  }
  for (int64_t j = 0; j < a.columns; ++j) pivots[j] = order[j] + 1;
}

template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus) {
  auto matrix = Map(a);
  const auto k = std::min<int64_t>(static_cast<int64_t>(taus.size()), std::min(a.rows, a.columns));
  EigenMatrix<T> q = EigenMatrix<T>::Identity(a.rows, a.columns);
  for (int64_t j = k - 1; j >= 0; --j) {
    const int64_t below = a.rows - j - 1;
    const Vector<T> v = WithOne<T>(matrix.col(j).tail(below));
    ApplyLeft<T>(v, taus[j], q.bottomRightCorner(below + 1, a.columns - j));
  }
  matrix = q;
}

template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint) {
  const auto matrix = Map(reflectors);
  auto target = Map(c);
  const auto k =
      std::min<int64_t>(static_cast<int64_t>(taus.size()), std::min(reflectors.rows, reflectors.columns));
  // q c applies the last reflector first, q^H c the first one. From the right, the order is reversed.
  const bool forwards = left == adjoint;
  for (int64_t step = 0; step < k; ++step) {
    const int64_t j = forwards ? step : k - 1 - step;
    const int64_t below = reflectors.rows - j - 1;
    const Vector<T> v = WithOne<T>(matrix.col(j).tail(below));
    const T tau = adjoint ? Conj(taus[j]) : taus[j];
    if (left)
      ApplyLeft<T>(v, tau, target.bottomRows(below + 1));
    else
      ApplyRight<T>(v, tau, target.rightCols(below + 1));
  }
}

template <class T>
void Gehrd(Matrix<T> a, int64_t low, int64_t high, absl::Span<T> taus) {
  auto matrix = Map(a);
  std::fill(taus.begin(), taus.end(), T(0));
  for (int64_t j = low; j < high; ++j) {
    const int64_t below = high - j - 1;
    taus[j] = Reflector(a(j + 1, j), matrix.col(j).segment(j + 2, below));
    const Vector<T> v = WithOne<T>(matrix.col(j).segment(j + 2, below));
    ApplyRight<T>(v, taus[j], matrix.block(0, j + 1, high + 1, below + 1));
    ApplyLeft<T>(v, Conj(taus[j]), matrix.block(j + 1, j + 1, below + 1, a.columns - j - 1));
  }
}

namespace {

// Computes a = H^H a H for a Hermitian matrix stored in its lower triangle.
template <class T>
void ApplyBoth(const Vector<T>& v, T tau, Matrix<T> a) {
  if (tau == T(0)) return;
  const EigenMatrix<T> full = Map(a).template selfadjointView<Eigen::Lower>();
  Vector<T> x = tau * (full * v);
  x -= (T(0.5) * tau * x.dot(v)) * v;
  const EigenMatrix<T> updated = full - v * x.adjoint() - x * v.adjoint();
  Map(a).template triangularView<Eigen::Lower>() = updated;
}

template <class T>
void SytrdLower(Matrix<T> a, absl::Span<double> diagonal, absl::Span<double> beside, absl::Span<T> taus) {
  const int64_t n = a.rows;
  for (int64_t j = 0; j < n; ++j) a(j, j) = std::real(a(j, j));
  for (int64_t j = 0; j + 1 < n; ++j) {
    auto tail = Map(a).col(j).tail(n - j - 2);
    taus[j] = Reflector(a(j + 1, j), tail);
    beside[j] = std::real(a(j + 1, j));
    const Vector<T> v = WithOne<T>(tail);
    ApplyBoth(v, taus[j], a.Block(j + 1, j + 1, n - j - 1, n - j - 1));
  }
  for (int64_t j = 0; j < n; ++j) diagonal[j] = std::real(a(j, j));
}

}  // namespace

template <class T>
void Sytrd(Matrix<T> a, bool lower, absl::Span<double> diagonal, absl::Span<double> beside,
           absl::Span<T> taus) {
  if (lower) return SytrdLower(a, diagonal, beside, taus);
  // The upper form processes columns from the last to the first. It is the lower form of the matrix with both
  // dimensions reversed.
  const int64_t n = a.rows;
  if (n == 0) return;
  const Matrix<T> turned{&a(n - 1, n - 1), n, n, -a.row_stride, -a.column_stride};
  SytrdLower(turned, diagonal, beside, taus);
  std::reverse(diagonal.begin(), diagonal.end());
  std::reverse(beside.begin(), beside.end());
  std::reverse(taus.begin(), taus.end());
}

#define HLO_INSTANTIATE(T)                                                          \
  template void Geqrf(Matrix<T>, absl::Span<T>);                                    \
  template void Geqp3(Matrix<T>, absl::Span<int64_t>, absl::Span<T>);               \
  template void Orgqr(Matrix<T>, absl::Span<const T>);                              \
  template void Ormqr(Matrix<const T>, absl::Span<const T>, Matrix<T>, bool, bool); \
  template void Gehrd(Matrix<T>, int64_t, int64_t, absl::Span<T>);                  \
  template void Sytrd(Matrix<T>, bool, absl::Span<double>, absl::Span<double>, absl::Span<T>);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::linalg
