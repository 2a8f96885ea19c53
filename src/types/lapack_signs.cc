#include "types/lapack_signs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace hlo {
namespace {

// lartg: (c s; -s c) (f; g) = (r; 0), where r has the sign of f.
template <class Real>
struct Rotation {
  Real c, s, r;

  Rotation(Real f, Real g) {
    if (g == 0) {
      c = 1, s = 0, r = f;
    } else if (f == 0) {
      c = 0, s = std::copysign(Real(1), g), r = std::abs(g);
    } else {
      const Real norm = std::sqrt(f * f + g * g);
      c = std::abs(f) / norm, r = std::copysign(norm, f), s = g / r;
    }
  }
};

// A square matrix whose rows are vectors.
template <class Real>
class Rows {
 public:
  explicit Rows(int64_t n) : n_(n), elements_(static_cast<size_t>(n * n)) {
    for (int64_t i = 0; i < n; ++i) elements_[i * n + i] = 1;
  }

  // Replaces rows i and j by c i + s j and c j - s i.
  void Rotate(int64_t i, int64_t j, Real c, Real s) {
    Real *x = &elements_[i * n_], *y = &elements_[j * n_];
    for (int64_t k = 0; k < n_; ++k) {
      const Real a = x[k], b = y[k];
      x[k] = c * a + s * b;
      y[k] = c * b - s * a;
    }
  }
  void Negate(int64_t i) {
    for (int64_t k = 0; k < n_; ++k) elements_[i * n_ + k] = -elements_[i * n_ + k];
  }

  VectorList InOrder(const std::vector<int64_t>& order) const {
    VectorList list{n_, {}};
    for (const int64_t i : order)
      list.elements.insert(list.elements.end(), &elements_[i * n_], &elements_[i * n_] + n_);
    return list;
  }

 private:
  int64_t n_;
  std::vector<Real> elements_;
};

// The eigenvalues of (a b; b c), the larger one in magnitude first, and the unit vector (c, s) of the first.
template <class Real>
struct Eigen2 {
  Real first, second, c, s;

  Eigen2(Real a, Real b, Real d) {
    const Real sum = a + d, difference = a - d, twice = b + b, root = std::hypot(difference, twice);
    const Real large = std::abs(a) > std::abs(d) ? a : d, small = std::abs(a) > std::abs(d) ? d : a;
    const bool is_negative = sum < 0;
    first = Real(0.5) * (is_negative ? sum - root : sum + root);
    second = sum == 0 ? -first : (large / first) * small - (b / first) * b;
    const bool descends = difference >= 0;
    const Real cosine = descends ? difference + root : difference - root;
    if (std::abs(cosine) > std::abs(twice)) {
      const Real t = -twice / cosine;
      s = 1 / std::sqrt(1 + t * t), c = t * s;
    } else if (twice == 0) {
      c = 1, s = 0;
    } else {
      const Real t = -cosine / twice;
      c = 1 / std::sqrt(1 + t * t), s = t * c;
    }
    if (is_negative != descends) std::swap(c, s), c = -c;
  }
};

// A tridiagonal matrix, whose rotations are applied to vectors.
template <class Real>
class Steqr {
 public:
  Steqr(int64_t n, const double* diagonal, const double* off_diagonal)
      : n_(n),
        d_(diagonal, diagonal + n),
        e_(off_diagonal, off_diagonal + n - 1),
        vectors_(n),
        left_(30 * n) {}

  VectorList Run() {
    for (int64_t first = 0, last; first < n_; first = last + 1) {
      last = first;
      while (last + 1 < n_ && !Splits(last)) ++last;
      if (!SolveBlock(first, last)) return {};
    }
    std::vector<int64_t> order(static_cast<size_t>(n_));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d_[i] < d_[j]; });
    return vectors_.InOrder(order);
  }

 private:
  static constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon() / 2;

  bool Splits(int64_t i) {
    const Real size = std::sqrt(std::abs(d_[i])) * std::sqrt(std::abs(d_[i + 1]));
    if (std::abs(e_[i]) > size * kEpsilon) return false;
    e_[i] = 0;
    return true;
  }

  // Rows of a block in ascending order, or in descending order if the last element is the smaller one. The
  // iteration finds the eigenvalues in this order.
  int64_t Row(int64_t k) const { return begin_ + step_ * k; }
  Real& D(int64_t k) { return d_[Row(k)]; }
  Real& E(int64_t k) { return e_[std::min(Row(k), Row(k + 1))]; }

  bool SolveBlock(int64_t first, int64_t last) {
    const bool descends = std::abs(d_[last]) < std::abs(d_[first]);
    begin_ = descends ? last : first;
    step_ = descends ? -1 : 1;
    for (int64_t k = 0, end = last - first; k <= end;) {
      int64_t m = k;
      while (m < end && !IsNegligible(m)) ++m;
      if (m < end) E(m) = 0;
      if (m == k) {
        ++k;
      } else if (m == k + 1) {
        SolvePair(std::min(Row(k), Row(m)));
        k += 2;
      } else if (--left_ < 0) {
        return false;
      } else {
        Step(k, m);
      }
    }
    return true;
  }

  bool IsNegligible(int64_t k) {
    const Real e = std::abs(E(k));
    return e * e <=
           kEpsilon * kEpsilon * std::abs(D(k)) * std::abs(D(k + 1)) + std::numeric_limits<Real>::min();
  }

  void SolvePair(int64_t i) {
    const Eigen2<Real> pair(d_[i], e_[i], d_[i + 1]);
    vectors_.Rotate(i, i + 1, pair.c, pair.s);
    d_[i] = pair.first;
    d_[i + 1] = pair.second;
    e_[i] = 0;
  }

  // Performs an implicit QL step on rows k to m with Wilkinson's shift.
  void Step(int64_t k, int64_t m) {
    Real g = (D(k + 1) - D(k)) / (2 * E(k)), s = 1, c = 1, p = 0;
    g = D(m) - D(k) + E(k) / (g + std::copysign(std::hypot(g, Real(1)), g));
    for (int64_t i = m - 1; i >= k; --i) {
      const Real f = s * E(i), b = c * E(i);
      const Rotation<Real> rotation(g, f);
      c = rotation.c;
      s = rotation.s;
      if (i + 1 < m) E(i + 1) = rotation.r;
      g = D(i + 1) - p;
      const Real moved = (D(i) - g) * s + 2 * c * b;
      p = s * moved;
      D(i + 1) = g + p;
      g = c * moved - b;
      vectors_.Rotate(Row(i), Row(i + 1), c, -s);
    }
    D(k) -= p;
    E(k) = g;
  }

  int64_t n_;
  std::vector<Real> d_, e_;
  Rows<Real> vectors_;
  int64_t left_, begin_ = 0, step_ = 1;
};

// Returns the smaller and the larger singular value of (f g; 0 h).
template <class Real>
std::pair<Real, Real> SingularValues2(Real f, Real g, Real h) {
  f = std::abs(f), g = std::abs(g), h = std::abs(h);
  const Real low = std::min(f, h), high = std::max(f, h);
  if (low == 0) return {0, std::hypot(high, g)};
  const Real as = 1 + low / high, at = (high - low) / high;
  if (g < high) {
    const Real au = g / high * (g / high), c = 2 / (std::sqrt(as * as + au) + std::sqrt(at * at + au));
    return {low * c, high / c};
  }
  const Real au = high / g;
  if (au == 0) return {low * high / g, g};
  const Real c = 1 / (std::sqrt(1 + as * au * (as * au)) + std::sqrt(1 + at * au * (at * au)));
  return {2 * (low * c * au), g / (c + c)};
}

// lasv2: the singular values of (f g; 0 h), the larger one in magnitude first, with signs, and the vectors.
template <class Real>
struct Svd2 {
  Real first, second, left_c, left_s, right_c, right_s;

  Svd2(Real f, Real g, Real h) {
    const bool swaps = std::abs(h) > std::abs(f);
    const Real p = swaps ? h : f, q = swaps ? f : h;
    Real cl = 1, sl = 0, cr = 1, sr = 0;
    Real small = std::abs(q), large = std::abs(p);
    const bool dominates = std::abs(g) > large;
    if (g != 0 && dominates && large / std::abs(g) < std::numeric_limits<Real>::epsilon() / 2) {
      small = small > 1 ? large / (std::abs(g) / small) : large / std::abs(g) * small;
      large = std::abs(g);
      sl = q / g, sr = 1, cr = p / g;
    } else if (g != 0) {
      Decompose(p, g, q, &small, &large, &cl, &sl, &cr, &sr);
    }
    left_c = swaps ? sr : cl, left_s = swaps ? cr : sl;
    right_c = swaps ? sl : cr, right_s = swaps ? cl : sr;
    const auto sign = [](Real x) { return std::copysign(Real(1), x); };
    const Real of_first = g != 0 && dominates ? sign(right_s) * sign(left_c) * sign(g)
                          : swaps             ? sign(right_s) * sign(left_s) * sign(h)
                                              : sign(right_c) * sign(left_c) * sign(f);
    first = std::copysign(large, of_first);
    second = std::copysign(small, of_first * sign(f) * sign(h));
  }

 private:
  static void Decompose(Real p, Real g, Real q, Real* small, Real* large, Real* cl, Real* sl, Real* cr,
                        Real* sr) {
    const Real fa = *large, ha = *small, difference = fa - ha;
    Real l = difference == fa ? Real(1) : difference / fa;
    const Real m = g / p, mm = m * m;
    Real t = 2 - l;
    const Real s = std::sqrt(t * t + mm), r = l == 0 ? std::abs(m) : std::sqrt(l * l + mm), a = (s + r) / 2;
    *small = ha / a;
    *large = fa * a;
    if (mm != 0) {
      t = (m / (s + t) + m / (r + l)) * (1 + a);
    } else if (l == 0) {
      t = std::copysign(Real(2), p) * std::copysign(Real(1), g);
    } else {
      t = g / std::copysign(difference, p) + m / t;
    }
    l = std::sqrt(t * t + 4);
    *cr = 2 / l;
    *sr = t / l;
    *cl = (*cr + *sr * m) / a;
    *sl = q / p * *sr / a;
  }
};

// An upper bidiagonal matrix, whose rotations are applied to its singular vectors.
template <class Real>
class Bdsqr {
 public:
  Bdsqr(std::vector<Real> diagonal, std::vector<Real> above)
      : n_(static_cast<int64_t>(diagonal.size())),
        d_(std::move(diagonal)),
        e_(std::move(above)),
        left_(n_),
        right_(n_) {}

  SingularVectorList Run() {
    SetThreshold();
    int64_t steps = 6 * n_ * n_;
    for (int64_t last = n_ - 1; last > 0;) {
      if (--steps < 0) return {};
      int64_t first = last;
      while (first > 0 && std::abs(e_[first - 1]) > threshold_) --first;
      if (first > 0) e_[first - 1] = 0;
      if (first == last) {
        --last;
      } else if (first + 1 == last) {
        SolvePair(first);
        last -= 2;
      } else {
        SolveBlock(first, last);
      }
    }
    for (int64_t i = 0; i < n_; ++i) {
      if (!std::signbit(d_[i])) continue;
      d_[i] = -d_[i];
      right_.Negate(i);
    }
    std::vector<int64_t> order(static_cast<size_t>(n_));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d_[i] > d_[j]; });
    return {left_.InOrder(order), right_.InOrder(order)};
  }

 private:
  static constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon() / 2;

  void SetThreshold() {
    tolerance_ = std::max(Real(10), std::min(Real(100), std::pow(kEpsilon, Real(-0.125)))) * kEpsilon;
    Real least = std::abs(d_[0]), mu = least;
    for (int64_t i = 1; i < n_ && least != 0; ++i) {
      mu = std::abs(d_[i]) * (mu / (mu + std::abs(e_[i - 1])));
      least = std::min(least, mu);
    }
    const auto n = static_cast<Real>(n_);
    threshold_ =
        std::max(tolerance_ * (least / std::sqrt(n)), 6 * (n * (n * std::numeric_limits<Real>::min())));
  }

  void SolvePair(int64_t i) {
    const Svd2<Real> pair(d_[i], e_[i], d_[i + 1]);
    d_[i] = pair.first;
    d_[i + 1] = pair.second;
    e_[i] = 0;
    right_.Rotate(i, i + 1, pair.right_c, pair.right_s);
    left_.Rotate(i, i + 1, pair.left_c, pair.left_s);
  }

  // The bulge is chased from the larger end of a block to the smaller one; rows are numbered in this order.
  int64_t Row(int64_t k) const { return begin_ + step_ * k; }
  Real& D(int64_t k) { return d_[Row(k)]; }
  Real& E(int64_t k) { return e_[std::min(Row(k), Row(k + 1))]; }

  void SolveBlock(int64_t first, int64_t last) {
    if (first > old_last_ || last < old_first_) step_ = std::abs(d_[first]) >= std::abs(d_[last]) ? 1 : -1;
    begin_ = step_ > 0 ? first : last;
    const int64_t end = last - first;
    if (std::abs(E(end - 1)) <= tolerance_ * std::abs(D(end))) {
      E(end - 1) = 0;
      return;
    }
    Real mu = std::abs(D(0)), least = mu, largest = std::abs(D(end));
    for (int64_t k = 0; k < end; ++k) {
      if (std::abs(E(k)) <= tolerance_ * mu) {
        E(k) = 0;
        return;
      }
      mu = std::abs(D(k + 1)) * (mu / (mu + std::abs(E(k))));
      least = std::min(least, mu);
      largest = std::max({largest, std::abs(D(k)), std::abs(E(k))});
    }
    old_first_ = first;
    old_last_ = last;
    const Real shift = Shift(end, least, largest);
    if (shift == 0)
      StepWithoutShift(end);
    else
      Step(end, shift);
    if (std::abs(E(end - 1)) <= threshold_) E(end - 1) = 0;
  }

  Real Shift(int64_t end, Real least, Real largest) {
    if (static_cast<Real>(n_) * tolerance_ * (least / largest) <= std::max(kEpsilon, tolerance_ / 100))
      return 0;
    const Real size = std::abs(D(0));
    const Real shift = step_ > 0 ? SingularValues2(D(end - 1), E(end - 1), D(end)).first
                                 : SingularValues2(D(end), E(end - 1), D(end - 1)).first;
    return size > 0 && shift / size * (shift / size) < kEpsilon ? 0 : shift;
  }

  // In descending order, the rotations of the columns are those of the rows of the transposed matrix.
  Rows<Real>& Columns() { return step_ > 0 ? right_ : left_; }
  Rows<Real>& OtherColumns() { return step_ > 0 ? left_ : right_; }

  void StepWithoutShift(int64_t end) {
    Real c = 1, old_c = 1, s = 0, old_s = 0;
    for (int64_t k = 0; k < end; ++k) {
      const Rotation<Real> first(D(k) * c, E(k));
      c = first.c, s = first.s;
      if (k > 0) E(k - 1) = old_s * first.r;
      const Rotation<Real> second(old_c * first.r, D(k + 1) * s);
      old_c = second.c, old_s = second.s;
      D(k) = second.r;
      Columns().Rotate(Row(k), Row(k + 1), c, s);
      OtherColumns().Rotate(Row(k), Row(k + 1), old_c, old_s);
    }
    const Real h = D(end) * c;
    D(end) = h * old_c;
    E(end - 1) = h * old_s;
  }

  void Step(int64_t end, Real shift) {
    Real f = (std::abs(D(0)) - shift) * (std::copysign(Real(1), D(0)) + shift / D(0)), g = E(0);
    for (int64_t k = 0; k < end; ++k) {
      const Rotation<Real> p(f, g);
      if (k > 0) E(k - 1) = p.r;
      f = p.c * D(k) + p.s * E(k);
      E(k) = p.c * E(k) - p.s * D(k);
      g = p.s * D(k + 1);
      D(k + 1) *= p.c;
      const Rotation<Real> q(f, g);
      D(k) = q.r;
      f = q.c * E(k) + q.s * D(k + 1);
      D(k + 1) = q.c * D(k + 1) - q.s * E(k);
      if (k + 1 < end) {
        g = q.s * E(k + 1);
        E(k + 1) *= q.c;
      }
      Columns().Rotate(Row(k), Row(k + 1), p.c, p.s);
      OtherColumns().Rotate(Row(k), Row(k + 1), q.c, q.s);
    }
    E(end - 1) = f;
  }

  int64_t n_;
  std::vector<Real> d_, e_;
  Rows<Real> left_, right_;
  Real tolerance_ = 0, threshold_ = 0;
  int64_t begin_ = 0, step_ = 1, old_first_ = -1, old_last_ = -1;
};

// Makes a lower bidiagonal matrix upper bidiagonal by rotations of its rows first.
template <class Real>
SingularVectorList BidiagonalVectors(int64_t n, const double* diagonal, const double* beside, bool lower) {
  std::vector<Real> d(diagonal, diagonal + n), e(beside, beside + n - 1);
  std::vector<Rotation<Real>> rotations;
  for (int64_t i = 0; lower && i + 1 < n; ++i) {
    rotations.emplace_back(d[i], e[i]);
    const Rotation<Real>& rotation = rotations.back();
    d[i] = rotation.r;
    e[i] = rotation.s * d[i + 1];
    d[i + 1] *= rotation.c;
  }
  SingularVectorList list = Bdsqr<Real>(std::move(d), std::move(e)).Run();
  for (int64_t k = 0; !list.left.empty() && k < n; ++k) {
    double* x = list.left.at(k);
    for (auto i = static_cast<int64_t>(rotations.size()) - 1; i >= 0; --i) {
      const double c = rotations[i].c, s = rotations[i].s, a = x[i], b = x[i + 1];
      x[i] = c * a - s * b;
      x[i + 1] = s * a + c * b;
    }
  }
  return list;
}

}  // namespace

VectorList SteqrVectors(int64_t n, const double* diagonal, const double* off_diagonal,
                        RealPrecision precision) {
  if (n == 0 || n > kMaxSignedRows) return {};
  if (precision == RealPrecision::kSingle) return Steqr<float>(n, diagonal, off_diagonal).Run();
  return Steqr<double>(n, diagonal, off_diagonal).Run();
}

SingularVectorList BdsdcVectors(int64_t n, const double* diagonal, const double* beside, bool lower,
                                RealPrecision precision) {
  if (n == 0 || n > kMaxSignedRows) return {};
  if (n == 1) return {{1, {std::copysign(1.0, diagonal[0])}}, {1, {1}}};
  if (precision == RealPrecision::kSingle) return BidiagonalVectors<float>(n, diagonal, beside, lower);
  return BidiagonalVectors<double>(n, diagonal, beside, lower);
}

}  // namespace hlo
