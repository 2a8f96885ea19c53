#include "reference/lapack/schur.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/vectorize.h"
#include "reference/lapack/householder.h"
#include "reference/lapack/owned.h"

namespace hlo::reference::lapack {
namespace {

using Complex = std::complex<double>;

constexpr double kUlp = std::numeric_limits<double>::epsilon();

// The thresholds below which an element is negligible, by element type.
struct Precision {
  double ulp, least;
};

// Exceptional shifts occur every 10 iterations without progress, alternately at the bottom of the block.
constexpr int64_t kExceptional = 10;

double Size(double x) { return std::abs(x); }
double Size(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }
double RealSize(double x) { return std::abs(x); }
double RealSize(Complex x) { return std::abs(x.real()); }

// The rows and columns low to high that permutations have not made triangular.
struct Range {
  int64_t low, high;
  std::vector<int64_t> swapped;  // By row: the row that it was swapped with.
};

template <class T>
void SwapRowsAndColumns(Matrix<T> a, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t k = 0; k < a.rows; ++k) std::swap(a(k, i), a(k, j));
  for (int64_t k = 0; k < a.rows; ++k) std::swap(a(i, k), a(j, k));
}

// gebal with job P: permutes isolated eigenvalues to the ends.
template <class T>
Range Isolate(Matrix<T> a) {
  Range range{0, a.rows - 1, std::vector<int64_t>(a.rows)};
  for (int64_t i = 0; i < a.rows; ++i) range.swapped[i] = i;
  const auto is_alone = [&](int64_t j, bool row) {
    for (int64_t i = range.low; i <= range.high; ++i) {
      if (i != j && (row ? a(j, i) : a(i, j)) != T(0)) return false;
    }
    return true;
  };
  for (int64_t j = range.high; j >= 0 && range.high > 0;) {
    if (!is_alone(j, true)) {
      --j;
      continue;
    }
    range.swapped[range.high] = j;
    SwapRowsAndColumns(a, j, range.high);
    j = --range.high;
  }
  for (int64_t j = range.low; j <= range.high && range.low < range.high;) {
    if (!is_alone(j, false)) {
      ++j;
      continue;
    }
    range.swapped[range.low] = j;
    SwapRowsAndColumns(a, j, range.low);
    j = ++range.low;
  }
  return range;
}

// gehrd and orghr: computes the Hessenberg matrix in a and the unitary factor in z.
template <class T>
void ReduceToHessenberg(Matrix<T> a, Matrix<T> z, const Range& range) {
  const int64_t n = a.rows, count = range.high - range.low;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) z(i, j) = T(i == j ? 1 : 0);
  }
  if (count < 1) return;
  std::vector<T> taus(n);
  Gehrd(a, range.low, range.high, absl::MakeSpan(taus).first(n - 1));
  const Matrix<T> q = z.Block(range.low + 1, range.low + 1, count, count);
  const Matrix<T> reflectors = a.Block(range.low + 1, range.low, count, count);
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = j + 1; i < count; ++i) q(i, j) = std::exchange(reflectors(i, j), T(0));
  }
  Orgqr(q, absl::MakeConstSpan(taus).subspan(range.low, count));
}

// Returns the first row of the last unreduced block, the one that ends with row `end`.
template <class T>
int64_t BlockBegin(Matrix<T> h, const Range& range, int64_t end, const Precision& precision) {
  const double ulp = precision.ulp,
               least = precision.least * (static_cast<double>(range.high - range.low + 1) / ulp);
  for (int64_t k = end; k > range.low; --k) {
    const double below = Size(h(k, k - 1));
    if (below <= least) return k;
    double diagonal = Size(h(k - 1, k - 1)) + Size(h(k, k));
    if (diagonal == 0) {
      if (k - 2 >= range.low) diagonal += RealSize(h(k - 1, k - 2));
      if (k + 1 <= range.high) diagonal += RealSize(h(k + 1, k));
    }
    if (RealSize(h(k, k - 1)) > ulp * diagonal) continue;
    // This is the criterion of Ahues and Tisseur.
    const double above = Size(h(k - 1, k)), last = Size(h(k, k)), gap = Size(h(k - 1, k - 1) - h(k, k));
    const double ab = std::max(below, above), ba = std::min(below, above), aa = std::max(last, gap),
                 bb = std::min(last, gap), s = aa + ab;
    if (ba * (ab / s) <= std::max(least, ulp * (bb * (aa / s)))) return k;
  }
  return range.low;
}

// Computes h = g^H h g and z = z g for the reflector g = 1 - tau v v^H on kCount rows and columns from k on,
// where tau v[r] is real for r > 0. Row `last` is the last one with nonzero entries in these columns. Rows
// are contiguous.
template <int kCount, class T>
void Reflect(const Matrix<T>& h, const Matrix<T>& z, int64_t k, const T* v, T tau, int64_t last) {
  double scaled[kCount];
  for (int r = 1; r < kCount; ++r) scaled[r] = std::real(tau * v[r]);
  T* rows[kCount];
  for (int r = 0; r < kCount; ++r) rows[r] = &h(k + r, 0);
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t j = k; j < h.rows; ++j) {
    T sum = Conj(tau) * rows[0][j];
    for (int r = 1; r < kCount; ++r) sum += scaled[r] * rows[r][j];
    rows[0][j] -= sum;
    for (int r = 1; r < kCount; ++r) rows[r][j] -= sum * v[r];
  }
  const auto columns = [&](const Matrix<T>& m, int64_t count) {
    for (int64_t j = 0; j < count; ++j) {
      T* row = &m(j, k);
      T sum = tau * row[0];
      for (int r = 1; r < kCount; ++r) sum += scaled[r] * row[r];
      row[0] -= sum;
      for (int r = 1; r < kCount; ++r) row[r] -= sum * Conj(v[r]);
    }
  };
  columns(h, last + 1);
  columns(z, z.rows);
}

// --- Real matrices: double shifts

struct Shifts {
  Complex a, b;
};
Shifts DoubleShift(Matrix<double> h, int64_t begin, int64_t end, int64_t tries) {
  double h11 = h(end - 1, end - 1), h21 = h(end, end - 1), h12 = h(end - 1, end), h22 = h(end, end);
  if (tries % kExceptional == 0) {
    const bool bottom = tries % (2 * kExceptional) == 0;
    const double s = bottom ? std::abs(h(end, end - 1)) + std::abs(h(end - 1, end - 2))
                            : std::abs(h(begin + 1, begin)) + std::abs(h(begin + 2, begin + 1));
    h11 = h22 = 0.75 * s + (bottom ? h(end, end) : h(begin, begin));
    h12 = -0.4375 * s;
    h21 = s;
  }
  const double s = std::abs(h11) + std::abs(h12) + std::abs(h21) + std::abs(h22);
  if (s == 0) return {0, 0};
  h11 /= s, h12 /= s, h21 /= s, h22 /= s;
  const double mean = (h11 + h22) / 2, product = (h11 - mean) * (h22 - mean) - h12 * h21,
               root = std::sqrt(std::abs(product));
  if (product >= 0) return {{mean * s, root * s}, {mean * s, -root * s}};
  const double x = mean + root, y = mean - root, near = std::abs(x - h22) <= std::abs(y - h22) ? x : y;
  return {near * s, near * s};
}

// Computes the first column of (h - a)(h - b) and returns the row at which to start: two consecutive small
// subdiagonal elements allow a start below `begin`.
int64_t FirstColumn(Matrix<double> h, int64_t begin, int64_t end, const Shifts& shifts, double ulp,
                    double* v) {
  for (int64_t m = end - 2;; --m) {
    const auto [a, b] = shifts;
    const double s = std::abs(h(m, m) - b.real()) + std::abs(b.imag()) + std::abs(h(m + 1, m));
    const double below = h(m + 1, m) / s;
    v[0] =
        below * h(m, m + 1) + (h(m, m) - a.real()) * ((h(m, m) - b.real()) / s) - a.imag() * (b.imag() / s);
    v[1] = below * (h(m, m) + h(m + 1, m + 1) - a.real() - b.real());
    v[2] = below * h(m + 2, m + 1);
    const double size = std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]);
    for (int i = 0; i < 3; ++i) v[i] /= size;
    if (m == begin) return m;
    const double around = std::abs(h(m - 1, m - 1)) + std::abs(h(m, m)) + std::abs(h(m + 1, m + 1));
    if (std::abs(h(m, m - 1)) * (std::abs(v[1]) + std::abs(v[2])) <= ulp * std::abs(v[0]) * around) return m;
  }
}

void Iterate(Matrix<double> h, Matrix<double> z, int64_t begin, int64_t end, int64_t tries, double ulp) {
  double v[3];
  const int64_t m = FirstColumn(h, begin, end, DoubleShift(h, begin, end, tries), ulp, v);
  for (int64_t k = m; k < end; ++k) {
    const int64_t count = std::min<int64_t>(3, end - k + 1);
    for (int64_t r = 0; k > m && r < count; ++r) v[r] = h(k + r, k - 1);
    const double tau = MakeReflector(Matrix<double>{v, count, 1, 1, 1});
    if (k > m) {
      h(k, k - 1) = v[0];
      for (int64_t r = 1; r < count; ++r) h(k + r, k - 1) = 0;
    } else if (m > begin) {
      h(k, k - 1) *= 1 - tau;
    }
    if (count == 3)
      Reflect<3>(h, z, k, v, tau, std::min(k + 3, end));
    else
      Reflect<2>(h, z, k, v, tau, end);
  }
}

// lanv2: returns the rotation (c, s) that makes a 2 x 2 block triangular or its diagonal elements equal.
std::pair<double, double> StandardRotation(double a, double b, double c, double d) {
  const auto sign = [](double x) { return std::copysign(1.0, x); };
  if (c == 0) return {1, 0};
  if (b == 0) return {0, 1};
  if (a - d == 0 && sign(b) != sign(c)) return {1, 0};
  const double p = 0.5 * (a - d), most = std::max(std::abs(b), std::abs(c)),
               least = std::min(std::abs(b), std::abs(c)) * sign(b) * sign(c),
               scale = std::max(std::abs(p), most);
  double x = p / scale * p + most / scale * least;
  if (x >= 4 * kUlp) {
    x = p + std::copysign(std::sqrt(scale) * std::sqrt(x), p);
    const double norm = std::hypot(c, x);
    return {x / norm, c / norm};
  }
  const double sigma = b + c, norm = std::hypot(sigma, a - d);
  double cs = std::sqrt(0.5 * (1 + std::abs(sigma) / norm)), sn = -(p / (norm * cs)) * sign(sigma);
  const double aa = a * cs + b * sn, bb = -a * sn + b * cs, cc = c * cs + d * sn, dd = -c * sn + d * cs;
  b = bb * cs + dd * sn;
  c = -aa * sn + cc * cs;
  if (c == 0) return {cs, sn};
  if (b == 0) return {-sn, cs};
  if (sign(b) != sign(c)) return {cs, sn};
  const double root = 1 / std::sqrt(std::abs(b + c)), cs1 = std::sqrt(std::abs(b)) * root,
               sn1 = std::sqrt(std::abs(c)) * root;
  return {cs * cs1 - sn * sn1, cs * sn1 + sn * cs1};
}

void FinishBlock(Matrix<double> h, Matrix<double> z, int64_t begin, int64_t end) {
  if (begin == end) return;
  const int64_t j = begin;
  const auto [c, s] = StandardRotation(h(j, j), h(j, j + 1), h(j + 1, j), h(j + 1, j + 1));
  for (int64_t k = j; k < h.rows; ++k) {
    const double x = h(j, k), y = h(j + 1, k);
    h(j, k) = c * x + s * y;
    h(j + 1, k) = c * y - s * x;
  }
  const auto columns = [c = c, s = s, j](Matrix<double> m, int64_t rows) {
    for (int64_t k = 0; k < rows; ++k) {
      const double x = m(k, j), y = m(k, j + 1);
      m(k, j) = c * x + s * y;
      m(k, j + 1) = c * y - s * x;
    }
  };
  columns(h, j + 2);
  columns(z, z.rows);
  const double size = std::abs(h(j, j)) + std::abs(h(j, j + 1)) + std::abs(h(j + 1, j + 1));
  if (h(j, j + 1) * h(j + 1, j) >= 0 || std::abs(h(j + 1, j)) <= kUlp * size * 4) {
    h(j + 1, j) = 0;
  } else {
    h(j, j) = h(j + 1, j + 1) = 0.5 * (h(j, j) + h(j + 1, j + 1));
  }
}

// --- Complex matrices: single shifts

// Multiplies row i right of the diagonal by `factor`, and column i above it by the conjugate.
void ScaleRotation(Matrix<Complex> h, Matrix<Complex> z, int64_t i, Complex factor) {
  for (int64_t j = i + 1; j < h.rows; ++j) h(i, j) *= factor;
  for (int64_t j = 0; j < i; ++j) h(j, i) *= std::conj(factor);
  for (int64_t j = 0; j < z.rows; ++j) z(j, i) *= std::conj(factor);
}

Complex SingleShift(Matrix<Complex> h, int64_t begin, int64_t end, int64_t tries) {
  if (tries % (2 * kExceptional) == 0) return h(end, end) + 0.75 * std::abs(h(end, end - 1).real());
  if (tries % kExceptional == 0) return h(begin, begin) + 0.75 * std::abs(h(begin + 1, begin).real());
  const Complex t = h(end, end), u = std::sqrt(h(end - 1, end)) * std::sqrt(h(end, end - 1));
  if (Size(u) == 0) return t;
  const Complex x = 0.5 * (h(end - 1, end - 1) - t);
  const double s = std::max(Size(u), Size(x));
  Complex y = s * std::sqrt((x / s) * (x / s) + (u / s) * (u / s));
  if (Size(x) > 0 && x.real() * y.real() + x.imag() * y.imag() < 0) y = -y;
  return t - u * (u / (x + y));
}

void Iterate(Matrix<Complex> h, Matrix<Complex> z, int64_t begin, int64_t end, int64_t tries, double ulp) {
  const Complex shift = SingleShift(h, begin, end, tries);
  Complex v[2];
  int64_t m = end - 1;
  for (;; --m) {
    const Complex top = h(m, m) - shift;
    const double below = h(m + 1, m).real(), s = Size(top) + std::abs(below);
    v[0] = top / s;
    v[1] = below / s;
    if (m == begin) break;
    const double around = Size(h(m, m)) + Size(h(m + 1, m + 1));
    if (std::abs(h(m, m - 1).real()) * std::abs(v[1].real()) <= ulp * (Size(v[0]) * around)) break;
  }
  for (int64_t k = m; k < end; ++k) {
    for (int64_t r = 0; k > m && r < 2; ++r) v[r] = h(k + r, k - 1);
    const Complex tau = MakeReflector(Matrix<Complex>{v, 2, 1, 1, 1});
    if (k > m) {
      h(k, k - 1) = v[0];
      h(k + 1, k - 1) = 0;
    }
    Reflect<2>(h, z, k, v, tau, std::min(k + 2, end));
    if (k > m || m == begin) continue;
    // The subdiagonal element next to the reflector is made real.
    Complex turn = 1.0 - tau;
    turn /= std::abs(turn);
    h(m + 1, m) *= std::conj(turn);
    if (m + 2 <= end) h(m + 2, m + 1) *= turn;
    for (int64_t j = m; j <= end; ++j) {
      if (j != m + 1) ScaleRotation(h, z, j, turn);
    }
  }
  const Complex last = h(end, end - 1);
  if (last.imag() == 0) return;
  h(end, end - 1) = std::abs(last);
  ScaleRotation(h, z, end, std::conj(last / std::abs(last)));
}

void FinishBlock(Matrix<Complex>, Matrix<Complex>, int64_t, int64_t) {}

void MakeSubdiagonalReal(Matrix<double>, Matrix<double>, const Range&) {}
void MakeSubdiagonalReal(Matrix<Complex> h, Matrix<Complex> z, const Range& range) {
  for (int64_t i = range.low + 1; i <= range.high; ++i) {
    const Complex below = h(i, i - 1);
    if (below.imag() == 0) continue;
    const Complex factor = std::conj(below) / std::abs(below);
    h(i, i - 1) = std::abs(below);
    ScaleRotation(h, z, i, factor);
    if (i + 1 <= range.high) h(i + 1, i) *= std::conj(factor);
  }
}

Precision PrecisionOf(bool single) {
  if (single) return {std::numeric_limits<float>::epsilon(), std::numeric_limits<float>::min()};
  return {kUlp, std::numeric_limits<double>::min()};
}

// Replaces t by its Schur form and z by the unitary factor; returns false if the iteration does not converge.
template <class T>
bool Converge(const Matrix<T>& t, const Matrix<T>& z, const Precision& precision) {
  constexpr bool kReal = std::is_same_v<T, double>;
  const Range range = Isolate(t);
  ReduceToHessenberg(t, z, range);
  MakeSubdiagonalReal(t, z, range);
  const int64_t most = 30 * std::max<int64_t>(10, range.high - range.low + 1);
  for (int64_t end = range.high; end >= range.low;) {
    int64_t begin = end, tries = 0;
    for (int64_t step = 0;; ++step) {
      begin = BlockBegin(t, range, end, precision);
      if (begin > range.low) t(begin, begin - 1) = T(0);
      if (begin >= end - (kReal ? 1 : 0)) break;
      if (step == most) return false;
      Iterate(t, z, begin, end, ++tries, precision.ulp);
    }
    FinishBlock(t, z, begin, end);
    end = begin - 1;
  }
  // gebak: undoes the row permutations in z.
  const auto back = [&](int64_t i) {
    for (int64_t k = 0; range.swapped[i] != i && k < z.columns; ++k)
      std::swap(z(i, k), z(range.swapped[i], k));
  };
  for (int64_t i = range.low - 1; i >= 0; --i) back(i);
  for (int64_t i = range.high + 1; i < z.rows; ++i) back(i);
  return true;
}

// Returns a matrix whose rows are not a multiple of 512 bytes apart, because such rows map to few sets of the
// cache.
template <class T>
Owned<T> PaddedLike(const Matrix<T>& a) {
  const int64_t n = a.columns;
  return Owned<T>(a.rows, n, n >= 64 && n * sizeof(T) % 512 == 0 ? n + 64 / sizeof(T) : n);
}

template <class T>
bool SchurForm(const Matrix<T>& t, const Matrix<T>& z, bool single) {
  const Owned<T> form = PaddedLike(t), factor = PaddedLike(t);
  EachElement(t, [&](int64_t i, int64_t j) { form.view(i, j) = t(i, j); });
  if (!Converge(form.view, factor.view, PrecisionOf(single))) return false;
  EachElement(t, [&](int64_t i, int64_t j) {
    t(i, j) = form.view(i, j);
    z(i, j) = factor.view(i, j);
  });
  return true;
}

}  // namespace

bool Schur(Matrix<double> t, Matrix<double> z, bool single) { return SchurForm(t, z, single); }
bool Schur(Matrix<Complex> t, Matrix<Complex> z, bool single) { return SchurForm(t, z, single); }

}  // namespace hlo::reference::lapack
