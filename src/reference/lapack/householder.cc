#include "reference/lapack/householder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "reference/lapack/owned.h"

namespace hlo::reference::lapack {
namespace {

double Tau(double alpha, double beta) { return (beta - alpha) / beta; }
std::complex<double> Tau(std::complex<double> alpha, double beta) {
  return {(beta - alpha.real()) / beta, -alpha.imag() / beta};
}

// Returns the norm of a column without overflow or underflow.
template <class T>
double Norm(const Matrix<T>& x) {
  double squares = 0, largest = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    squares += std::norm(x(i, 0));
    largest = std::max({largest, std::abs(std::real(x(i, 0))), std::abs(std::imag(x(i, 0)))});
  }
  if ((squares > 1e-280 && squares < 1e280) || largest == 0) return std::sqrt(squares);
  squares = 0;
  for (int64_t i = 0; i < x.rows; ++i) squares += std::norm(x(i, 0) / largest);
  return largest * std::sqrt(squares);
}

// Returns v of a reflector: 1 followed by its tail.
template <class T>
auto WithOne(const Matrix<T>& tail) {
  std::vector<std::remove_const_t<T>> v(tail.rows + 1, 1);
  for (int64_t i = 0; i < tail.rows; ++i) v[i + 1] = tail(i, 0);
  return v;
}

// Returns the elements of a column from row i on.
template <class T>
Matrix<T> Tail(const Matrix<T>& a, int64_t i, int64_t j) {
  return a.Block(i, j, a.rows - i, 1);
}

// Computes c = (1 - tau v v^H) c.
template <class T>
void ApplyLeft(const std::vector<T>& v, T tau, const Matrix<T>& c) {
  if (tau == T(0)) return;
  std::vector<T> row(c.columns);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) row[j] += Conj(v[i]) * c(i, j);
  }
  for (int64_t i = 0; i < c.rows; ++i) {
    const T factor = tau * v[i];
    for (int64_t j = 0; j < c.columns; ++j) c(i, j) -= factor * row[j];
  }
}

// Computes c = c (1 - tau v v^H).
template <class T>
void ApplyRight(const std::vector<T>& v, T tau, const Matrix<T>& c) {
  if (tau == T(0)) return;
  for (int64_t i = 0; i < c.rows; ++i) {
    T sum = 0;
    for (int64_t j = 0; j < c.columns; ++j) sum += c(i, j) * v[j];
    sum *= tau;
    for (int64_t j = 0; j < c.columns; ++j) c(i, j) -= sum * Conj(v[j]);
  }
}

// Zeroes the elements below (j, j) and applies the reflector to the following columns.
template <class T>
T Eliminate(const Matrix<T>& a, int64_t j) {
  const T tau = MakeReflector(Tail(a, j, j));
  ApplyLeft(WithOne(Tail(a, j + 1, j)), Conj(tau), a.Block(j, j + 1, a.rows - j, a.columns - j - 1));
  return tau;
}

// Returns the column at or after j with the largest norm from row j on.
template <class T>
int64_t LongestColumn(const Matrix<T>& a, int64_t j) {
  int64_t best = j;
  double longest = -1;
  for (int64_t c = j; c < a.columns; ++c) {
    const double norm = Norm(Tail(a, j, c));
    if (norm > longest) {
      longest = norm;
      best = c;
    }
  }
  return best;
}

}  // namespace

template <class T>
T MakeReflector(const Matrix<T>& x) {
  // Subnormal norms and elements have few bits.
  constexpr double kLeastNorm = 0x1p-900, kUp = 0x1p400;
  T& alpha = x(0, 0);
  const double tail = Norm(Tail(x, 1, 0));
  if (tail == 0 && std::imag(alpha) == 0) return T(0);
  const double norm = std::hypot(std::hypot(std::real(alpha), std::imag(alpha)), tail);
  if (norm < kLeastNorm) {
    for (int64_t i = 0; i < x.rows; ++i) x(i, 0) *= kUp;
    const T tau = MakeReflector(x);
    alpha /= kUp;
    return tau;
  }
  const double beta = std::signbit(std::real(alpha)) ? norm : -norm;
  const T tau = Tau(alpha, beta);
  for (int64_t i = 1; i < x.rows; ++i) x(i, 0) /= alpha - beta;
  alpha = beta;
  return tau;
}

template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus) {
  for (size_t j = 0; j < taus.size(); ++j) taus[j] = Eliminate(a, static_cast<int64_t>(j));
}

template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus) {
  std::vector<int64_t> order(a.columns);
  std::iota(order.begin(), order.end(), 0);
  const auto swap_columns = [&](int64_t i, int64_t j) {
    if (i == j) return;
    for (int64_t row = 0; row < a.rows; ++row) std::swap(a(row, i), a(row, j));
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
  const auto k = std::min<int64_t>(static_cast<int64_t>(taus.size()), std::min(a.rows, a.columns));
  Owned<T> q(a.rows, a.columns);
  Fill<T>(q.view, 0, 1);
  for (int64_t j = k - 1; j >= 0; --j)
    ApplyLeft(WithOne(Tail(a, j + 1, j)), taus[j], q.view.Block(j, j, a.rows - j, a.columns - j));
  EachElement(a, [&](int64_t i, int64_t j) { a(i, j) = q.view(i, j); });
}

template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint) {
  const auto k =
      std::min<int64_t>(static_cast<int64_t>(taus.size()), std::min(reflectors.rows, reflectors.columns));
  // q c applies the last reflector first, q^H c the first one. From the right, the order is reversed.
  const bool forwards = left == adjoint;
  for (int64_t step = 0; step < k; ++step) {
    const int64_t j = forwards ? step : k - 1 - step, count = reflectors.rows - j;
    const std::vector<T> v = WithOne(Tail(reflectors, j + 1, j));
    const T tau = adjoint ? Conj(taus[j]) : taus[j];
    if (left)
      ApplyLeft(v, tau, c.Block(c.rows - count, 0, count, c.columns));
    else
      ApplyRight(v, tau, c.Block(0, c.columns - count, c.rows, count));
  }
}

template <class T>
void Gehrd(Matrix<T> a, int64_t low, int64_t high, absl::Span<T> taus) {
  std::fill(taus.begin(), taus.end(), T(0));
  for (int64_t j = low; j < high; ++j) {
    const int64_t count = high - j;
    taus[j] = MakeReflector(a.Block(j + 1, j, count, 1));
    const std::vector<T> v = WithOne(a.Block(j + 2, j, count - 1, 1));
    ApplyRight(v, taus[j], a.Block(0, j + 1, high + 1, count));
    ApplyLeft(v, Conj(taus[j]), a.Block(j + 1, j + 1, count, a.columns - j - 1));
  }
}

namespace {

// Computes a = H^H a H for a Hermitian matrix stored in its lower triangle.
template <class T>
void ApplyBoth(const std::vector<T>& v, T tau, const Matrix<T>& a) {
  if (tau == T(0)) return;
  std::vector<T> x(a.rows);  // tau a v, minus the multiple of v that makes the update a - v x^H - x v^H.
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      x[i] += a(i, j) * v[j];
      x[j] += Conj(a(i, j)) * v[i];
    }
    x[i] += a(i, i) * v[i];
  }
  T inner = 0;
  for (int64_t i = 0; i < a.rows; ++i) inner += Conj(x[i] *= tau) * v[i];
  const T factor = T(0.5) * tau * inner;
  for (int64_t i = 0; i < a.rows; ++i) x[i] -= factor * v[i];
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j <= i; ++j) a(i, j) -= v[i] * Conj(x[j]) + x[i] * Conj(v[j]);
  }
}

template <class T>
void SytrdLower(Matrix<T> a, absl::Span<double> diagonal, absl::Span<double> off_diagonal,
                absl::Span<T> taus) {
  const int64_t n = a.rows;
  for (int64_t j = 0; j < n; ++j) a(j, j) = std::real(a(j, j));
  for (int64_t j = 0; j + 1 < n; ++j) {
    taus[j] = MakeReflector(Tail(a, j + 1, j));
    off_diagonal[j] = std::real(a(j + 1, j));
    ApplyBoth(WithOne(Tail(a, j + 2, j)), taus[j], a.Block(j + 1, j + 1, n - j - 1, n - j - 1));
  }
  for (int64_t j = 0; j < n; ++j) diagonal[j] = std::real(a(j, j));
}

}  // namespace

template <class T>
void Sytrd(Matrix<T> a, bool lower, absl::Span<double> diagonal, absl::Span<double> off_diagonal,
           absl::Span<T> taus) {
  if (lower) return SytrdLower(a, diagonal, off_diagonal, taus);
  // The upper form processes columns from the last to the first. It is the lower form of the matrix with both
  // dimensions reversed.
  const int64_t n = a.rows;
  if (n == 0) return;
  const Matrix<T> turned{&a(n - 1, n - 1), n, n, -a.row_stride, -a.column_stride};
  SytrdLower(turned, diagonal, off_diagonal, taus);
  std::reverse(diagonal.begin(), diagonal.end());
  std::reverse(off_diagonal.begin(), off_diagonal.end());
  std::reverse(taus.begin(), taus.end());
}

#define HLO_INSTANTIATE(T)                                                          \
  template T MakeReflector(const Matrix<T>&);                                       \
  template void Geqrf(Matrix<T>, absl::Span<T>);                                    \
  template void Geqp3(Matrix<T>, absl::Span<int64_t>, absl::Span<T>);               \
  template void Orgqr(Matrix<T>, absl::Span<const T>);                              \
  template void Ormqr(Matrix<const T>, absl::Span<const T>, Matrix<T>, bool, bool); \
  template void Gehrd(Matrix<T>, int64_t, int64_t, absl::Span<T>);                  \
  template void Sytrd(Matrix<T>, bool, absl::Span<double>, absl::Span<double>, absl::Span<T>);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(std::complex<double>)
#undef HLO_INSTANTIATE

}  // namespace hlo::reference::lapack
