#include "kernels/lapack/secular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/lanes.h"

namespace hlo::lapack {
namespace {

constexpr int kMaxSteps = 200;

// The value of the equation, its derivative, and the sum of the magnitudes of its terms.
struct Value {
  double value, slope, magnitude;
};

// The equation in offsets from one of its poles, the origin.
class ShiftedEquation {
 public:
  // `gaps` and `weights` are padded to full vectors; the padding of `weights` is 0.
  ShiftedEquation(const SecularEquation& equation, const double* weights, int64_t origin, double* gaps)
      : weights_(weights), gaps_(gaps), count_(equation.count) {
    const double* poles = equation.poles;
    const double from = poles[origin];
    if (equation.squares) {
      for (int64_t j = 0; j < equation.count; ++j) gaps[j] = (poles[j] - from) * (poles[j] + from);
    } else {
      for (int64_t j = 0; j < equation.count; ++j) gaps[j] = poles[j] - from;
    }
    std::fill(gaps + count_, gaps + PaddedLength<double>(count_), std::numeric_limits<double>::infinity());
  }

  Value At(double offset) const {
    const Lanes shift = cpu::Broadcast(offset);
    Lanes sum{}, slope{}, magnitude{};
    for (int64_t j = 0; j < count_; j += kElements<double>) {
      const Lanes inverse = 1.0 / (cpu::LoadVector(gaps_ + j) - shift);
      const Lanes term = cpu::LoadVector(weights_ + j) * inverse;
      sum += term;
      slope += term * inverse;
      magnitude += term < 0 ? -term : term;
    }
    return {1 + cpu::SumOfLanes<double>(sum), cpu::SumOfLanes<double>(slope),
            1 + cpu::SumOfLanes<double>(magnitude)};
  }

  double gap(int64_t j) const { return gaps_[j]; }
  double weight(int64_t j) const { return weights_[j]; }

 private:
  const double* weights_;
  double* gaps_;
  int64_t count_;
};

// Returns the root 2 c / (b + sqrt(discriminant)) of a x^2 - b x + c without cancellation.
double SmallRoot(double a, double b, double c) {
  const double root = std::sqrt(std::max(0.0, b * b - 4 * a * c));
  return b <= 0 ? (a == 0 ? c / b : (b - root) / (2 * a)) : 2 * c / (b + root);
}

// Returns the step to the zero of a rational interpolant. It has the same value and derivative, the pole
// `near` with its weight, and a second pole `far`. Distances are relative to the current point.
double RationalStep(const Value& here, double near, double weight, double far) {
  const double others = std::max(0.0, far * far * (here.slope - weight / (near * near)));
  const double constant = here.value - weight / near - others / far;
  return SmallRoot(constant, constant * (near + far) + weight + others, near * far * here.value);
}

struct Bracket {
  double low, high;

  void Narrow(double x, double value) { (value < 0 ? low : high) = x; }
  bool Holds(double x) const { return x > low && x < high; }
  double Middle() const {
    const double a = std::abs(low), b = std::abs(high), small = std::min(a, b), large = std::max(a, b);
    // Roots may be much closer to their pole than to the other end.
    if (small > 0 && large > 16 * small) return std::copysign(std::sqrt(a) * std::sqrt(b), low + high);
    return small == 0 && large > 0 ? (low + high) / 64 : 0.5 * (low + high);
  }
};

// Finds the root between the poles at 0 and `other`, starting at `x`. The ends of the bracket are not
// roots.
double FindRoot(const ShiftedEquation& f, double weight, double other, Bracket bracket, double x) {
  double before = std::numeric_limits<double>::infinity();
  if (!bracket.Holds(x)) x = bracket.Middle();
  for (int step = 0; step < kMaxSteps; ++step) {
    const Value here = f.At(x);
    const double size = std::abs(here.value);
    if (size <= kUnitRoundoff * (8 * here.magnitude + std::abs(x) * here.slope)) break;
    bracket.Narrow(x, here.value);
    double next = x + RationalStep(here, -x, weight, other - x);
    if (!bracket.Holds(next) || (step > 8 && size > 0.5 * before)) next = bracket.Middle();
    if (next == x || !bracket.Holds(next)) break;
    before = size;
    x = next;
  }
  return x;
}

struct Root {
  int64_t origin;
  double offset;
};

// Finds root i. On return, `gaps` holds the poles relative to the root's origin.
Root SolveOne(const SecularEquation& equation, const double* weights, double sum, int64_t i, double* gaps) {
  const bool is_last = i + 1 == equation.count;
  const ShiftedEquation lower(equation, weights, i, gaps);
  if (is_last) {
    const double most = sum * (1 + 8 * kUnitRoundoff), other = 2 * sum;
    return {i, FindRoot(lower, weights[i], other, {0, most}, 0.5 * most)};
  }
  const double gap = lower.gap(i + 1), half = 0.5 * gap;
  const Value middle = lower.At(half);
  // The initial guess treats the contribution of the other poles as constant.
  const double constant = middle.value - (weights[i] - weights[i + 1]) / -half;
  if (middle.value >= 0) {
    const double guess = SmallRoot(constant, constant * gap + weights[i] + weights[i + 1], weights[i] * gap);
    return {i, FindRoot(lower, weights[i], gap, {0, half * (1 + kUnitRoundoff)}, guess)};
  }
  const double guess =
      SmallRoot(constant, -constant * gap + weights[i] + weights[i + 1], -weights[i + 1] * gap);
  const ShiftedEquation upper(equation, weights, i + 1, gaps);
  return {i + 1, FindRoot(upper, weights[i + 1], -gap, {-half * (1 + kUnitRoundoff), 0}, guess)};
}

double RootAt(const SecularEquation& equation, const Root& root) {
  const double pole = equation.poles[root.origin];
  if (!equation.squares) return pole + root.offset;
  return pole + root.offset / (pole + std::sqrt(pole * pole + root.offset));
}

// Computes weights[j] = product over i of (root i - pole j) / (pole i - pole j), with no divisor for i = j.
void ExactWeights(const SecularEquation& equation, const double* distances, int64_t row_stride, int64_t begin,
                  int64_t end, double* weights) {
  const double* poles = equation.poles;
  for (int64_t j = begin; j < end; ++j) weights[j] = -distances[j * row_stride + j];
  const auto multiply = [&](int64_t i, int64_t from, int64_t to, auto squares) {
    const double* row = distances + i * row_stride;
    const double pole = poles[i];
    for (int64_t j = from; j < to; ++j) {
      double gap = poles[j] - pole;
      if constexpr (squares) gap *= poles[j] + pole;
      weights[j] *= row[j] / gap;
    }
  };
  for (int64_t i = 0; i < equation.count; ++i) {
    const int64_t middle = std::clamp(i, begin, end), after = std::clamp(i + 1, begin, end);
    if (equation.squares) {
      multiply(i, begin, middle, std::true_type());
      multiply(i, after, end, std::true_type());
    } else {
      multiply(i, begin, middle, std::false_type());
      multiply(i, after, end, std::false_type());
    }
  }
}

}  // namespace

void SolveSecularEquation(const SecularEquation& equation, double* roots, double* distances,
                          int64_t row_stride, double* exact_weights) {
  constexpr int64_t kRoots = 8, kColumns = 64;
  const int64_t n = equation.count;
  cpu::CachedVector<double> weights(PaddedLength<double>(n));
  std::copy_n(equation.weights, n, weights.begin());
  std::fill(weights.begin() + n, weights.end(), 0.0);
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += weights[j];
  const auto squared = static_cast<double>(n * n);
  ParallelFor(CeilDiv(n, kRoots), 15 * squared, [&](int64_t block) {
    for (int64_t i = block * kRoots; i < std::min(n, (block + 1) * kRoots); ++i) {
      double* row = distances + i * row_stride;
      const Root root = SolveOne(equation, weights.data(), sum, i, row);
      roots[i] = RootAt(equation, root);
      for (int64_t j = 0; j < n; ++j) row[j] -= root.offset;
    }
  });
  ParallelFor(CeilDiv(n, kColumns), squared, [&](int64_t block) {
    ExactWeights(equation, distances, row_stride, block * kColumns, std::min(n, (block + 1) * kColumns),
                 exact_weights);
  });
}

}  // namespace hlo::lapack
