#include "debug/shadow/element_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "debug/shadow/shadow_value.h"

namespace hlo::debug {
namespace {

// A monotone function and the interval on which it is defined.
struct MonotoneFunction {
  double (*function)(double) = nullptr;
  double low = -kInfinity, high = kInfinity;
};

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }

double MonotoneBound(const MonotoneFunction& f, const Bounded& x, double result) {
  if (x.bound == 0) return 0;
  if (!std::isfinite(x.bound)) return kInfinity;
  const auto distance = [&](double at) {
    const double value = f.function(std::clamp(at, f.low, f.high));
    return value == result ? 0 : std::fabs(value - result);
  };
  // The ends of the interval are rounded outwards.
  const double reach = x.bound + std::fabs(x.value) * std::numeric_limits<double>::epsilon();
  // A NaN compares false: where the result is undefined, so is its bound.
  const double bound = std::max(distance(x.value - reach), distance(x.value + reach));
  return std::isnan(bound) ? kInfinity : bound;
}

double TanBound(const Bounded& x, double result) {
  const double slope = 1 + result * result;
  return x.bound * std::sqrt(slope) < 0.5 ? 2 * x.bound * slope : kInfinity;
}

double CoshBound(const Bounded& x, double result) {
  const double magnitude = std::fabs(x.value);
  return std::max(std::cosh(magnitude + x.bound) - result,
                  result - std::cosh(std::max(0.0, magnitude - x.bound)));
}

double ProductBound(const Bounded& a, const Bounded& b) {
  // 0 times an unbounded error is 0.
  const auto term = [](double value, double bound) { return value == 0 || bound == 0 ? 0 : value * bound; };
  return term(std::fabs(a.value), b.bound) + term(std::fabs(b.value), a.bound) + term(a.bound, b.bound);
}

double QuotientBound(const Bounded& a, const Bounded& b, double result) {
  const double least = std::fabs(b.value) - b.bound;
  if (least <= 0) return kInfinity;
  return (a.bound + std::fabs(result) * b.bound) / least;
}

double ExtremumBound(const Bounded& a, const Bounded& b, bool is_maximum) {
  const double sign = is_maximum ? 1 : -1;
  const double x = sign * a.value, y = sign * b.value;
  if (x - a.bound > y + b.bound) return a.bound;
  if (y - b.bound > x + a.bound) return b.bound;
  return std::max(a.bound, b.bound);
}

double PowerBound(const Bounded& a, const Bounded& b, double result) {
  if (a.bound == 0 && b.bound == 0) return 0;
  const double least = std::fabs(a.value) - a.bound;
  if (least <= 0) {
    // The power of the largest magnitude bounds both values if the exponent is positive and exact.
    if (b.bound > 0 || b.value <= 0) return kInfinity;
    return std::pow(std::fabs(a.value) + a.bound, b.value) + std::fabs(result);
  }
  if (a.value < 0 && b.bound > 0) return kInfinity;
  const double exponent = std::fabs(b.value) + b.bound;
  const double log = std::max(std::fabs(std::log(least)), std::fabs(std::log(std::fabs(a.value) + a.bound)));
  return std::fabs(result) * std::expm1(exponent * a.bound / least + log * b.bound);
}

double Atan2Bound(const Bounded& y, const Bounded& x) {
  const double radius = std::hypot(x.value, y.value) - std::hypot(x.bound, y.bound);
  const bool crosses_cut = x.value - x.bound < 0 && std::fabs(y.value) <= y.bound;
  if (radius <= 0 || crosses_cut) return 2 * M_PI;
  return std::hypot(x.bound, y.bound) / radius;
}

double RemainderBound(const Bounded& a, const Bounded& b) {
  const double quotient = std::trunc(a.value / b.value);
  const double bound = a.bound + std::fabs(quotient) * b.bound;
  const double rest = std::fabs(a.value - quotient * b.value);
  const double modulus = std::fabs(b.value);
  const bool may_wrap = rest <= bound || modulus - rest <= bound;
  return may_wrap ? modulus + b.bound + bound : bound;
}

double ClampBound(const Bounded* x) {
  const Bounded &low = x[0], &value = x[1], &high = x[2];
  if (value.value - value.bound > low.value + low.bound &&
      value.value + value.bound < high.value - high.bound)
    return value.bound;
  const Bounded lower{std::max(low.value, value.value), ExtremumBound(low, value, /*is_maximum=*/true)};
  return ExtremumBound(lower, high, /*is_maximum=*/false);
}

// The functions that error_rules.def names: bounds of the errors that results inherit from operands.
using InheritFn = double (*)(const Bounded* x, double result);

double None(const Bounded*, double) { return 0; }
double First(const Bounded* x, double) { return x[0].bound; }
double Sum(const Bounded* x, double) { return x[0].bound + x[1].bound; }
double Product(const Bounded* x, double) { return ProductBound(x[0], x[1]); }
double Quotient(const Bounded* x, double result) { return QuotientBound(x[0], x[1], result); }
double Maximum(const Bounded* x, double) { return ExtremumBound(x[0], x[1], /*is_maximum=*/true); }
double Minimum(const Bounded* x, double) { return ExtremumBound(x[0], x[1], /*is_maximum=*/false); }
double Clamp(const Bounded* x, double) { return ClampBound(x); }
double Power(const Bounded* x, double result) { return PowerBound(x[0], x[1], result); }
double Atan2(const Bounded* x, double) { return Atan2Bound(x[0], x[1]); }
double Remainder(const Bounded* x, double) { return RemainderBound(x[0], x[1]); }
double Sine(const Bounded* x, double) { return std::min(x[0].bound, 2.0); }
double Tan(const Bounded* x, double result) { return TanBound(x[0], result); }
double Cosh(const Bounded* x, double result) { return CoshBound(x[0], result); }
double Sign(const Bounded* x, double) {
  return std::fabs(x[0].value) <= x[0].bound && x[0].bound > 0 ? 2 : 0;
}

constexpr MonotoneFunction Monotone(double (*function)(double), double low = -kInfinity,
                                    double high = kInfinity) {
  return {function, low, high};
}

// The inherited bound of an opcode; neither member is set if there is none.
struct Inheritance {
  constexpr Inheritance() = default;
  constexpr Inheritance(InheritFn bound) : bound(bound) {}  // NOLINT: a cell of the table
  constexpr Inheritance(const MonotoneFunction& function)
      : monotone(function) {}  // NOLINT: a cell of the table

  InheritFn bound = nullptr;
  MonotoneFunction monotone;
};

// The error that an implementation adds, in epsilons of a scale.
struct Rounding {
  enum Scale { kResult, kOperands, kAngle } scale = kResult;
  double epsilons = 6;
};

constexpr Rounding Exact = {Rounding::kResult, 0};
constexpr Rounding Rounded(double epsilons) { return {Rounding::kResult, epsilons}; }
constexpr Rounding RoundedSum = {Rounding::kOperands, 1};
// The reduction of large arguments is relative to 1.
constexpr Rounding RoundedAngle = {Rounding::kAngle, 4};

struct ErrorRule {
  Inheritance inheritance;
  Rounding rounding;
};

constexpr std::array<ErrorRule, kOpcodeCount> MakeErrorRules() {
  std::array<ErrorRule, kOpcodeCount> rules;
#define ERROR_RULE(name, inheritance, rounding, ...) \
  rules[static_cast<size_t>(Opcode::k##name)] = {inheritance, rounding};
#include "debug/shadow/error_rules.def"
  return rules;
}

constexpr std::array<ErrorRule, kOpcodeCount> kErrorRules = MakeErrorRules();

const ErrorRule& RuleOf(Opcode opcode) { return kErrorRules[static_cast<size_t>(opcode)]; }

// True if an infinite result has no rounding error: it is the pole of a function at an exact operand, or an
// operand is infinite. Otherwise the result has overflowed.
bool IsExactInfinity(Opcode opcode, const Bounded* x) {
  const auto is_exact = [](const Bounded& operand) { return operand.bound == 0; };
  if (!std::all_of(x, x + kMaxOperands, is_exact)) return false;
  if (std::any_of(x, x + kMaxOperands, [](const Bounded& operand) { return std::isinf(operand.value); }))
    return true;
  switch (opcode) {
    case Opcode::kLog:
    case Opcode::kLog2:
    case Opcode::kLogPlusOne:
    case Opcode::kAtanh:
    case Opcode::kRsqrt:
      return true;
    case Opcode::kDivide:
      return x[1].value == 0;
    case Opcode::kPower:
      return x[0].value == 0;
    default:
      return false;
  }
}

}  // namespace

double InheritedBound(Opcode opcode, const Bounded* x, double result) {
  const Inheritance& inheritance = RuleOf(opcode).inheritance;
  if (inheritance.bound != nullptr) return inheritance.bound(x, result);
  return inheritance.monotone.function == nullptr ? -1 : MonotoneBound(inheritance.monotone, x[0], result);
}

OwnError OwnErrorOf(Opcode opcode, const Bounded* x, double result) {
  const Rounding& rounding = RuleOf(opcode).rounding;
  if (rounding.epsilons == 0) return {};
  const double magnitude = std::fabs(result);
  switch (rounding.scale) {
    case Rounding::kOperands:
      return {rounding.epsilons, std::fabs(x[0].value) + std::fabs(x[1].value)};
    case Rounding::kAngle:
      return {rounding.epsilons, std::max(magnitude, std::min(1.0, std::fabs(x[0].value)))};
    case Rounding::kResult:
      break;
  }
  if (std::isinf(result) && IsExactInfinity(opcode, x)) return {};
  return {rounding.epsilons, magnitude};
}

}  // namespace hlo::debug
