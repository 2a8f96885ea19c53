// Special functions without an HLO opcode (semantics 9.3), in f64.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "types/bernoulli.h"
#include "types/wide.h"

namespace hlo::reference::custom {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsInteger(double x) { return x == std::floor(x); }

// Computes f(operand 0's element, operand 1's element, ...) for every element and rounds once.
template <class F>
absl::StatusOr<Literal> EachFloat(OpContext& context, F&& f) {
  std::vector<Literal> x;
  for (const Literal& operand : context.operands) {
    HLO_ASSIGN_OR_RETURN(Literal wide, Widened(operand, ElementType::kF64));
    x.push_back(std::move(wide));
  }
  HLO_ASSIGN_OR_RETURN(Literal result,
                       Literal::Create(Shape::Array(ElementType::kF64, context.shape().dims())));
  for (int64_t i = 0; i < result.element_count(); ++i) {
    double& out = result.mutable_span<double>()[i];
    if constexpr (std::is_invocable_v<F, double>)
      out = f(x[0].span<double>()[i]);
    else
      out = f(x[0].span<double>()[i], x[1].span<double>()[i]);
  }
  return Rounded(result, context.shape());
}

template <class F>
absl::StatusOr<Literal> EachAnswer(OpContext& context, F&& f) {
  HLO_ASSIGN_OR_RETURN(const Literal x, Widened(context.operands[0], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  std::transform(x.span<double>().begin(), x.span<double>().end(), result.mutable_span<bool>().begin(), f);
  return result;
}

// Returns x with erf(x) = y by Halley's method on erfc, which is accurate near y = 1.
double ErfInvOf(double y) {
  if (!(std::abs(y) < 1)) return std::abs(y) == 1 ? std::copysign(kInfinity, y) : kNan;
  const double size = std::abs(y);
  double x = size * std::sqrt(std::numbers::pi) / 2;
  if (size > 0.5) {
    // Winitzki's approximation has an error of 0.4 percent.
    constexpr double kA = 0.147;
    const double l = std::log1p(-size * size), b = 2 / (std::numbers::pi * kA) + l / 2;
    x = std::sqrt(std::sqrt(b * b - l / kA) - b);
  }
  for (int i = 0; i < 5; ++i) {
    const double miss = size > 0.5 ? (1 - size) - std::erfc(x) : std::erf(x) - size;
    const double step = miss / (2 / std::sqrt(std::numbers::pi) * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

double LgammaOf(double x) {
  int sign = 0;  // std::lgamma would write it to a global variable.
  return lgamma_r(x, &sign);
}

// Uses psi(x) = log(x) - 1/(2x) - sum of B_2k / (2k x^2k) after the recurrence psi(x) = psi(x + 1) - 1/x.
double DigammaOf(double x) {
  if (x <= 0 && IsInteger(x)) return kNan;
  if (x < 0) {
    const double fraction = x - std::nearbyint(x);  // It is exact, also for x near 0.
    return DigammaOf(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double result = 0;
  for (; x < kAsymptotic; x += 1) result -= 1 / x;
  result += std::log(x) - 1 / (2 * x);
  const double square = 1 / (x * x);
  double power = square;
  for (size_t k = 0; k < std::size(kBernoulli); ++k, power *= square)
    result -= kBernoulli[k] * power / static_cast<double>(2 * k + 2);
  return result;
}

// Returns the sum of (q + n)^-x over n >= 0 for q > 0, x > 1, by the Euler-Maclaurin formula.
double PositiveZeta(double x, double q) {
  double sum = 0;
  for (; q < kAsymptotic; q += 1) sum += std::pow(q, -x);
  const double power = std::pow(q, -x);
  sum += power * q / (x - 1) + power / 2;
  double term = power * x / q / 2;  // x (x+1) ... (x+2k-2) / (2k)! q^-(x+2k-1)
  for (size_t k = 0; k < std::size(kBernoulli); ++k) {
    sum += kBernoulli[k] * term;
    const double n = 2 * static_cast<double>(k) + 2;
    term *= (x + n - 1) * (x + n) / ((n + 1) * (n + 2) * q * q);
    if (term == 0) break;
  }
  return sum;
}

// The Hurwitz zeta function. For q < 0 it is the sum of two such sums, for terms on either side of 0.
double ZetaOf(double x, double q) {
  if (std::isnan(x) || std::isnan(q) || x < 1) return kNan;
  if (x == 1) return kInfinity;
  if (q > 0) return std::isinf(q) ? 0 : PositiveZeta(x, q);
  const bool is_even = std::fmod(x, 2) == 0;
  if (IsInteger(q)) return is_even ? kInfinity : kNan;
  if (!IsInteger(x)) return kNan;
  const double fraction = q - std::floor(q), below = -std::floor(q);
  const double left = PositiveZeta(x, 1 - fraction) - PositiveZeta(x, below + 1 - fraction);
  return PositiveZeta(x, fraction) + (is_even ? left : -left);
}

double PolygammaOf(double n, double x) {
  if (!(n >= 0) || !IsInteger(n)) return kNan;
  if (n == 0) return DigammaOf(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(LgammaOf(n + 1)) * ZetaOf(n + 1, x);
}

// Returns exp(-|x|) I_1(x) by its power series, or the asymptotic series for large arguments.
double BesselI1eOf(double x) {
  constexpr double kLarge = 50;
  const double size = std::abs(x);
  double sum = 0, term = 0;
  if (size <= kLarge) {
    term = size / 2 * std::exp(-size);
    for (double k = 1; term > sum * 1e-18; ++k) {
      sum += term;
      term *= size * size / (4 * k * (k + 1));
    }
  } else {
    term = std::isinf(size) ? 0 : 1 / std::sqrt(2 * std::numbers::pi * size);
    for (double k = 1; std::abs(term) > std::abs(sum) * 1e-18; ++k) {
      sum += term;
      term *= -(4 - (2 * k - 1) * (2 * k - 1)) / (8 * k * size);
    }
  }
  return std::isnan(x) ? kNan : std::copysign(sum, x);
}

// Returns the next representable number after x towards y, for types whose codes are ordered within a sign.
template <class Bits>
void NextAfterEach(const Literal& from, const Literal& towards, Literal& result) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const LoadFn<double> load = Loader<double>(from.type());
  for (int64_t i = 0; i < from.element_count(); ++i) {
    const double x = load(from.data(), i), y = load(towards.data(), i);
    Bits bits = from.span<Bits>()[i];
    const Bits target = towards.span<Bits>()[i];
    if (std::isnan(y) && !std::isnan(x))
      bits = target;
    else if (x == y)
      bits = target;
    else if (x == 0)
      bits = static_cast<Bits>((y < 0 ? kSign : 0) | 1);
    else if (!std::isnan(x))
      bits = static_cast<Bits>((y > x) == (x > 0) ? bits + 1 : bits - 1);
    result.mutable_span<Bits>()[i] = bits;
  }
}

}  // namespace

absl::StatusOr<Literal> ErfInv(OpContext& context) { return EachFloat(context, ErfInvOf); }
absl::StatusOr<Literal> Erfc(OpContext& context) {
  return EachFloat(context, [](double x) { return std::erfc(x); });
}
absl::StatusOr<Literal> Lgamma(OpContext& context) { return EachFloat(context, LgammaOf); }
absl::StatusOr<Literal> Digamma(OpContext& context) { return EachFloat(context, DigammaOf); }
absl::StatusOr<Literal> Zeta(OpContext& context) { return EachFloat(context, ZetaOf); }
absl::StatusOr<Literal> Polygamma(OpContext& context) { return EachFloat(context, PolygammaOf); }
absl::StatusOr<Literal> BesselI1e(OpContext& context) { return EachFloat(context, BesselI1eOf); }

absl::StatusOr<Literal> IsInf(OpContext& context) {
  return EachAnswer(context, [](double x) { return std::isinf(x); });
}
absl::StatusOr<Literal> IsPosInf(OpContext& context) {
  return EachAnswer(context, [](double x) { return x == kInfinity; });
}
absl::StatusOr<Literal> IsNegInf(OpContext& context) {
  return EachAnswer(context, [](double x) { return x == -kInfinity; });
}

absl::StatusOr<Literal> Atan(OpContext& context) {
  if (!IsComplex(context.shape().type())) return EachFloat(context, [](double x) { return std::atan(x); });
  HLO_ASSIGN_OR_RETURN(Literal x, Widened(context.operands[0], ElementType::kC128));
  HLO_RETURN_IF_ERROR(x.MakeUnique());
  for (std::complex<double>& z : x.mutable_span<std::complex<double>>()) z = std::atan(z);
  return Rounded(x, context.shape());
}

absl::StatusOr<Literal> Conj(OpContext& context) {
  if (!IsComplex(context.shape().type())) return std::move(context.operands[0]);
  HLO_ASSIGN_OR_RETURN(Literal x, Widened(context.operands[0], ElementType::kC128));
  HLO_RETURN_IF_ERROR(x.MakeUnique());
  for (std::complex<double>& z : x.mutable_span<std::complex<double>>()) z = std::conj(z);
  return Rounded(x, context.shape());
}

std::string NextAfterMismatch(const Instruction& call) {
  const ElementType type = call.shape().type();
  return BitWidth(type) >= 16 ? "" : fmt::format("is not known for {}", Name(type));
}

absl::StatusOr<Literal> NextAfter(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  const Literal &from = context.operands[0], &towards = context.operands[1];
  if (result.byte_count() == 2 * result.element_count())
    NextAfterEach<uint16_t>(from, towards, result);
  else if (result.byte_count() == 4 * result.element_count())
    NextAfterEach<uint32_t>(from, towards, result);
  else
    NextAfterEach<uint64_t>(from, towards, result);
  return result;
}

}  // namespace hlo::reference::custom
