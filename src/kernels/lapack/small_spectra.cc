#include "kernels/lapack/small_spectra.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/lanes.h"

namespace hlo::lapack {

double LargestElement(int64_t n, const double* diagonal, const double* off_diagonal) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(diagonal[i]));
  for (int64_t i = 0; i + 1 < n; ++i) largest = std::max(largest, std::abs(off_diagonal[i]));
  return largest;
}

Rotation MakeRotation(double f, double g) {
  if (g == 0) return {1, 0, f};
  const double squares = f * f + g * g;
  if (squares < kMinSquare) {
    constexpr double kUp = 0x1p600;
    const auto [c, s, r] = MakeRotation(f * kUp, g * kUp);
    return {c, s, r / kUp};
  }
  // The root and the quotient are computed independently, because the rotation's latency is critical.
  const double r = std::sqrt(squares), inverse = 1 / squares * r;
  return {f * inverse, g * inverse, r};
}

namespace {

constexpr int64_t kStepsPerValue = 60;

// Smaller elements are negligible, because the largest one of the whole matrix is about 1. A block of it may
// have only such elements. The shifts are computed from their squares, which would underflow.
constexpr double kNegligible = 1e-140;

// The rotations of a QR step; rotation i acts on rows i and i + 1.
struct Sweep {
  cpu::CachedVector<double> c, s;
  explicit Sweep(int64_t n) : c(n), s(n) {}

  // Applies the rotations to rows first, ..., last, in ascending order or, if not kForwards, in descending
  // order. A row stays in registers until both of its rotations are applied.
  template <bool kForwards>
  void Apply(const VectorRows& rows, int64_t first, int64_t last) const {
    if (rows.data == nullptr) return;
    for (int64_t begin = 0; begin < rows.length; begin += kStrip)
      ApplyStrip<kForwards>(rows, first, last, begin, std::min(rows.length, begin + kStrip));
  }

 private:
  static constexpr int kVectors = 4;
  static constexpr int64_t kStrip = kVectors * kElements<double>;

  template <bool kForwards>
  void ApplyStrip(const VectorRows& rows, int64_t first, int64_t last, int64_t begin, int64_t end) const {
    if (end - begin == kStrip) return Strip<kForwards, kVectors>(rows, first, last, begin, Whole<double>{});
    for (; begin + kElements<double> <= end; begin += kElements<double>)
      Strip<kForwards, 1>(rows, first, last, begin, Whole<double>{});
    if (begin < end)
      Strip<kForwards, 1>(rows, first, last, begin, First<double>{static_cast<int>(end - begin)});
  }

  template <bool kForwards, int kCount, class Part>
  void Strip(const VectorRows& rows, int64_t first, int64_t last, int64_t column, Part part) const {
    Lanes carried[kCount];
    const int64_t start = kForwards ? first : last;
    for (int k = 0; k < kCount; ++k) carried[k] = part.Load(rows.Row(start) + column + k * kElements<double>);
    for (int64_t step = 0; step < last - first; ++step) {
      const int64_t i = kForwards ? first + step : last - 1 - step;
      const Lanes cosine = cpu::Broadcast(c[i]), sine = cpu::Broadcast(s[i]);
      const double* next = rows.Row(kForwards ? i + 1 : i) + column;
      double* done = rows.Row(kForwards ? i : i + 1) + column;
      for (int k = 0; k < kCount; ++k) {
        const Lanes x = part.Load(next + k * kElements<double>);
        const Lanes above = kForwards ? carried[k] : x, below = kForwards ? x : carried[k];
        const Lanes upper = cosine * above + sine * below, lower = cosine * below - sine * above;
        part.Store(done + k * kElements<double>, kForwards ? upper : lower);
        carried[k] = kForwards ? lower : upper;
      }
    }
    const int64_t end = kForwards ? last : first;
    for (int k = 0; k < kCount; ++k) part.Store(rows.Row(end) + column + k * kElements<double>, carried[k]);
  }
};

// A rotation, with the products that a two-sided update needs.
struct TwoSided {
  double c, s, r, cc, ss, cs;
};
// The square of g is a separate argument, because it is available before g itself.
TwoSided MakeTwoSided(double f, double g, double square) {
  const double squares = f * f + square;
  if (squares < kMinSquare) {
    const auto [c, s, r] = MakeRotation(f, g);
    return {c, s, r, c * c, s * s, c * s};
  }
  // The sine is not computed as a quotient of g, because the errors of g and of its square would diverge
  // during a sweep.
  const double inverse = 1 / squares, r = std::sqrt(squares), ss = square * inverse;
  return {f * r * inverse, std::copysign(std::sqrt(ss), g), r, f * f * inverse, ss, f * g * inverse};
}

// Performs an implicit QL step with Wilkinson's shift on rows first, ..., last.
void QlStep(int64_t first, int64_t last, double* d, double* e, Sweep& sweep) {
  const double half = 0.5 * (d[first + 1] - d[first]), off_diagonal = e[first];
  const double root = std::copysign(std::hypot(half, off_diagonal), half);
  const double shift = d[first] - off_diagonal * (off_diagonal / (half + root));
  // The bulge is chased upwards; x is the element with which the next rotation zeroes y.
  double x = d[last] - shift, y = e[last - 1], yy = y * y;
  for (int64_t i = last - 1; i >= first; --i) {
    const auto [c, s, r, cc, ss, cs] = MakeTwoSided(x, y, yy);
    if (i + 1 < last) e[i + 1] = r;
    const double upper = d[i], lower = d[i + 1], cross = e[i];
    const double mixed = -2 * cs * cross;
    d[i] = cc * upper + mixed + ss * lower;
    d[i + 1] = ss * upper - mixed + cc * lower;
    e[i] = (cc - ss) * cross - cs * (lower - upper);
    // Rows i and i + 1 become c upper - s lower and c lower + s upper.
    sweep.c[i] = c;
    sweep.s[i] = -s;
    if (i == first) break;
    x = e[i];
    y = s * e[i - 1];
    yy = ss * (e[i - 1] * e[i - 1]);
    e[i - 1] *= c;
  }
}

}  // namespace

int64_t TridiagonalQr(int64_t n, double* d, double* e, VectorRows vectors) {
  if (n == 0) return 0;
  Sweep sweep(n);
  const double nothing = std::max(kUnitRoundoff * 1e-3 * LargestElement(n, d, e), kNegligible);
  const auto is_nothing = [&](int64_t i) {
    return std::abs(e[i]) <= kUnitRoundoff * (std::abs(d[i]) + std::abs(d[i + 1])) + nothing;
  };
  int64_t steps = kStepsPerValue * n;
  for (int64_t first = 0; first + 1 < n;) {
    if (is_nothing(first)) {
      ++first;
      continue;
    }
    int64_t last = first + 1;
    while (last + 1 < n && !is_nothing(last)) ++last;
    if (--steps < 0) return n - first;
    QlStep(first, last, d, e, sweep);
    sweep.Apply<false>(vectors, first, last);
  }
  return 0;
}

namespace {

// Returns the eigenvalue of the trailing 2 x 2 block of the squared matrix closest to its last element.
double LastShift(double d0, double d1, double e0, double before) {
  const double a = d0 * d0 + before * before, b = d1 * d1 + e0 * e0, cross = d0 * e0;
  const double half = 0.5 * (a - b), root = std::copysign(std::hypot(half, cross), half);
  return half + root == 0 ? b : b - cross * (cross / (half + root));
}

// Performs a QR step on rows first, ..., last: rotations from both sides chase the bulge downwards.
void BidiagonalStep(int64_t first, int64_t last, double shift, double* d, double* e, Sweep& left,
                    Sweep& right) {
  double x = d[first] == 0 ? 0 : d[first] - shift / d[first], y = e[first];
  for (int64_t i = first; i < last; ++i) {
    const Rotation p = MakeRotation(x, y);
    if (i > first) e[i - 1] = p.r;
    const double diagonal = p.c * d[i] + p.s * e[i], below = p.s * d[i + 1];
    e[i] = p.c * e[i] - p.s * d[i];
    d[i + 1] *= p.c;
    const Rotation q = MakeRotation(diagonal, below);
    d[i] = q.r;
    x = q.c * e[i] + q.s * d[i + 1];
    d[i + 1] = q.c * d[i + 1] - q.s * e[i];
    e[i] = x;
    if (i + 1 < last) {
      y = q.s * e[i + 1];
      e[i + 1] *= q.c;
    }
    right.c[i] = p.c;
    right.s[i] = p.s;
    left.c[i] = q.c;
    left.s[i] = q.s;
  }
}

}  // namespace

int64_t BidiagonalQr(int64_t n, double* d, double* e, VectorRows left, VectorRows right) {
  if (n == 0) return 0;
  Sweep left_sweep(n), right_sweep(n);
  const double nothing = std::max(kUnitRoundoff * LargestElement(n, d, e), kNegligible);
  int64_t steps = kStepsPerValue * n;
  const auto is_nothing = [&](int64_t i) {
    return std::abs(e[i]) <= kUnitRoundoff * (std::abs(d[i]) + std::abs(d[i + 1])) + nothing;
  };
  for (int64_t last = n - 1; last > 0;) {
    if (is_nothing(last - 1)) {
      --last;
      continue;
    }
    int64_t first = last - 1;
    bool singular = std::abs(d[last]) <= nothing || std::abs(d[first]) <= nothing;
    for (; first > 0 && !is_nothing(first - 1); --first) singular |= std::abs(d[first - 1]) <= nothing;
    if (--steps < 0) return last + 1;
    // Without a shift, one step splits a singular matrix.
    const double before = last - 1 > first ? e[last - 2] : 0;
    const double shift = singular ? 0 : LastShift(d[last - 1], d[last], e[last - 1], before);
    BidiagonalStep(first, last, shift, d, e, left_sweep, right_sweep);
    left_sweep.Apply<true>(left, first, last);
    right_sweep.Apply<true>(right, first, last);
  }
  return 0;
}

}  // namespace hlo::lapack
