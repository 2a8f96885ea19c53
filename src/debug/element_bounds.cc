#include "debug/element_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "debug/shadow_value.h"

namespace hlo::debug {
namespace {

// A monotone function and the interval on which it is defined.
struct Monotone {
  double (*function)(double) = nullptr;
  double low = -kInfinity, high = kInfinity;
};

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }
double RoundAfz(double x) { return std::round(x); }
double RoundEven(double x) { return std::nearbyint(x); }

Monotone MonotoneOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAcos:
      return {std::acos, -1, 1};
    case Opcode::kAcosh:
      return {std::acosh, 1};
    case Opcode::kAsin:
      return {std::asin, -1, 1};
    case Opcode::kAsinh:
      return {std::asinh};
    case Opcode::kAtanh:
      return {std::atanh, -1, 1};
    case Opcode::kCbrt:
      return {std::cbrt};
    case Opcode::kCeil:
      return {std::ceil};
    case Opcode::kErf:
      return {std::erf};
    case Opcode::kExp2:
      return {std::exp2};
    case Opcode::kExponential:
      return {std::exp};
    case Opcode::kExponentialMinusOne:
      return {std::expm1};
    case Opcode::kFloor:
      return {std::floor};
    case Opcode::kLog:
      return {std::log, 0};
    case Opcode::kLog2:
      return {std::log2, 0};
    case Opcode::kLogPlusOne:
      return {std::log1p, -1};
    case Opcode::kLogistic:
      return {Logistic};
    case Opcode::kRoundNearestAfz:
      return {RoundAfz};
    case Opcode::kRoundNearestEven:
      return {RoundEven};
    case Opcode::kRsqrt:
      return {Rsqrt, 0};
    case Opcode::kSinh:
      return {std::sinh};
    case Opcode::kSqrt:
      return {std::sqrt, 0};
    case Opcode::kTanh:
      return {std::tanh};
    default:
      return {};
  }
}

double MonotoneBound(const Monotone& f, const Bounded& x, double result) {
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
  const Bounded lower{std::max(low.value, value.value), ExtremumBound(low, value, true)};
  return ExtremumBound(lower, high, false);
}

}  // namespace

double InheritedBound(Opcode opcode, const Bounded* x, double result) {
  const Bounded &a = x[0], &b = x[1];
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kNegate:
    case Opcode::kReal:
    case Opcode::kReducePrecision:
      return a.bound;
    case Opcode::kImag:
      return 0;
    case Opcode::kAdd:
    case Opcode::kSubtract:
      return a.bound + b.bound;
    case Opcode::kMultiply:
      return ProductBound(a, b);
    case Opcode::kDivide:
      return QuotientBound(a, b, result);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return ExtremumBound(a, b, opcode == Opcode::kMaximum);
    case Opcode::kClamp:
      return ClampBound(x);
    case Opcode::kPower:
      return PowerBound(a, b, result);
    case Opcode::kAtan2:
      return Atan2Bound(a, b);
    case Opcode::kRemainder:
      return RemainderBound(a, b);
    case Opcode::kSine:
    case Opcode::kCosine:
      return std::min(a.bound, 2.0);
    case Opcode::kTan:
      return TanBound(a, result);
    case Opcode::kCosh:
      return CoshBound(a, result);
    case Opcode::kSign:
      return std::fabs(a.value) <= a.bound && a.bound > 0 ? 2 : 0;
    default: {
      const Monotone monotone = MonotoneOf(opcode);
      return monotone.function == nullptr ? -1 : MonotoneBound(monotone, a, result);
    }
  }
}

OwnError OwnErrorOf(Opcode opcode, const Bounded* x, double result) {
  const double magnitude = std::fabs(result);
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kCeil:
    case Opcode::kClamp:
    case Opcode::kCopy:
    case Opcode::kFloor:
    case Opcode::kImag:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kNegate:
    case Opcode::kReal:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kSign:
      return {};
    case Opcode::kAdd:
    case Opcode::kSubtract:
      return {1, std::fabs(x[0].value) + std::fabs(x[1].value)};
    case Opcode::kConvert:
    case Opcode::kMultiply:
    case Opcode::kReducePrecision:
    case Opcode::kRemainder:
      return {1, magnitude};
    case Opcode::kDivide:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
      return {2, magnitude};
    case Opcode::kPower:
    case Opcode::kTan:
      return {16, magnitude};
    case Opcode::kSine:
    case Opcode::kCosine:
      // The reduction of large arguments is relative to 1.
      return {4, std::max(magnitude, std::min(1.0, std::fabs(x[0].value)))};
    default:
      return {6, magnitude};
  }
}

}  // namespace hlo::debug
