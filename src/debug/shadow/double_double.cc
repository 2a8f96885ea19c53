#include "debug/shadow/double_double.h"

#include <limits>

namespace hlo::debug {
namespace {

constexpr int kMaxTerms = 400;
// The inverse hyperbolic functions of larger numbers x are log(2x).
constexpr double kLarge = 0x1p60;
const DoubleDouble kHalfPi(0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54);
constexpr double kHalfPiRest = -0x1.f1976b7ed8fbcp-110;
// 2 / sqrt(pi).
const DoubleDouble kErfFactor(0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56);

bool IsNegligible(const DoubleDouble& term, const DoubleDouble& sum) {
  return std::fabs(term.high) <= std::fabs(sum.high) * 0x1p-108;
}

// Returns sum of x^(2k + first) / (2k + first)! with these signs, for small x.
DoubleDouble Series(const DoubleDouble& x, int first, bool alternates) {
  const DoubleDouble square = x * x;
  DoubleDouble term = first == 0 ? DoubleDouble(1) : x, sum = term;
  for (int k = first + 2; k < kMaxTerms; k += 2) {
    term = term * square / (static_cast<double>(k) * (k - 1));
    if (alternates) term = -term;
    if (IsNegligible(term, sum)) break;
    sum = sum + term;
  }
  return sum;
}

// Returns x - k pi / 2 in [-pi/4, pi/4] and k modulo 4.
DoubleDouble ReducedAngle(const DoubleDouble& x, int& quadrant) {
  const double k = std::nearbyint(x.high / kHalfPi.high);
  quadrant = static_cast<int>(std::fmod(k, 4));
  if (quadrant < 0) quadrant += 4;
  return x - TwoProduct(k, kHalfPi.high) - TwoProduct(k, kHalfPi.low) - TwoProduct(k, kHalfPiRest);
}

DoubleDouble SineOrCosine(const DoubleDouble& x, int turn) {
  constexpr double kLargest = 0x1p30;  // Beyond, the reduction has too few bits.
  const double plain = turn == 0 ? std::sin(x.high) : std::cos(x.high);
  if (!(std::fabs(x.high) < kLargest)) return plain;
  int quadrant = 0;
  const DoubleDouble angle = ReducedAngle(x, quadrant);
  quadrant = (quadrant + turn) % 4;
  const DoubleDouble value = Series(angle, quadrant % 2 == 0 ? 1 : 0, /*alternates=*/true);
  return quadrant >= 2 ? -value : value;
}

}  // namespace

DoubleDouble Sqrt(const DoubleDouble& x) {
  const double root = std::sqrt(x.high);
  if (x.high == 0 || !std::isfinite(root)) return root;
  return DoubleDouble(root) + (x - TwoProduct(root, root)) / (2 * root);
}

DoubleDouble Cbrt(const DoubleDouble& x) {
  DoubleDouble root = std::cbrt(x.high);
  if (x.high == 0 || !std::isfinite(x.high)) return root;
  for (int step = 0; step < 2; ++step)
    root = root - (root * root * root - x) / (DoubleDouble(3) * root * root);
  return root;
}

DoubleDouble Expm1(const DoubleDouble& x) {
  const double plain = std::expm1(x.high);
  if (x.high == 0 || !std::isfinite(plain) || plain == -1) return plain;
  if (std::fabs(x.high) > 0.5) return Exp(x) - 1;
  DoubleDouble term = x, sum = x;
  for (int k = 2; k < kMaxTerms; ++k) {
    term = term * x / static_cast<double>(k);
    if (IsNegligible(term, sum)) break;
    sum = sum + term;
  }
  return sum;
}

DoubleDouble Exp(const DoubleDouble& x) {
  const double plain = std::exp(x.high);
  if (!std::isfinite(plain) || plain < std::numeric_limits<double>::min()) return plain;
  const double k = std::nearbyint(x.high / kLn2.high);
  const DoubleDouble rest = x - kLn2 * k;
  return Scaled(Expm1(rest) + 1, static_cast<int>(k));
}

// One step of Newton's method doubles the bits.
DoubleDouble Log(const DoubleDouble& x) {
  const double plain = std::log(x.high);
  if (!std::isfinite(plain)) return plain;
  // The exponential of the logarithm of a very small or large number would not be normal.
  int exponent = 0;
  std::frexp(x.high, &exponent);
  const DoubleDouble mantissa = Scaled(x, -exponent);
  DoubleDouble y = std::log(mantissa.high);
  for (int step = 0; step < 2; ++step) y = y + (mantissa * Exp(-y) - 1);
  return y + kLn2 * static_cast<double>(exponent);
}

DoubleDouble Log1p(const DoubleDouble& x) {
  const double plain = std::log1p(x.high);
  if (x.high == 0 || !std::isfinite(plain)) return plain;
  if (std::fabs(x.high) > 0.5) return Log(x + 1);
  DoubleDouble y = plain;
  for (int step = 0; step < 2; ++step) {
    const DoubleDouble e = Expm1(y);
    y = y - (e - x) / (e + 1);
  }
  return y;
}

DoubleDouble Sin(const DoubleDouble& x) { return SineOrCosine(x, 0); }
DoubleDouble Cos(const DoubleDouble& x) { return SineOrCosine(x, 1); }

DoubleDouble Sinh(const DoubleDouble& x) {
  const double plain = std::sinh(x.high);
  if (x.high == 0 || !std::isfinite(plain)) return plain;
  if (std::fabs(x.high) < 0.5) return Series(x, 1, /*alternates=*/false);
  const DoubleDouble e = Exp(x);
  return (e - DoubleDouble(1) / e) / 2.0;
}
DoubleDouble Cosh(const DoubleDouble& x) {
  if (!std::isfinite(std::cosh(x.high))) return std::cosh(x.high);
  const DoubleDouble e = Exp(x);
  return (e + DoubleDouble(1) / e) / 2.0;
}
DoubleDouble Tanh(const DoubleDouble& x) {
  constexpr double kFlat = 45;  // Beyond, the distance to 1 is below 2^-128.
  if (!(std::fabs(x.high) < kFlat) || x.high == 0) return std::tanh(x.high);
  const DoubleDouble e = Expm1(x * 2.0);
  return e / (e + 2);
}

// z = atan2 of the leading parts is off by the sine of the angle between both directions.
DoubleDouble Atan2(const DoubleDouble& y, const DoubleDouble& x) {
  DoubleDouble angle = std::atan2(y.high, x.high);
  const double radius = std::hypot(x.high, y.high);
  if (!std::isfinite(angle.high) || !std::isfinite(radius) || radius == 0 || y.high == 0) return angle;
  for (int step = 0; step < 2; ++step) angle = angle + (y / radius * Cos(angle) - x / radius * Sin(angle));
  return angle;
}

// erf x = 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n + 1) / (1 * 3 * ... * (2n + 1)), whose terms are positive.
DoubleDouble Erf(const DoubleDouble& x) {
  constexpr double kFlat = 9;
  if (!(std::fabs(x.high) < kFlat) || x.high == 0) return std::erf(x.high);
  const DoubleDouble square = x * x;
  DoubleDouble term = x, sum = x;
  for (int n = 1; n < kMaxTerms; ++n) {
    term = term * square * (2.0 / 1) / static_cast<double>(2 * n + 1);
    if (IsNegligible(term, sum)) break;
    sum = sum + term;
  }
  return kErfFactor * Exp(-square) * sum;
}

DoubleDouble Pow(const DoubleDouble& base, const DoubleDouble& exponent) {
  const double plain = std::pow(base.high, exponent.high);
  if (!std::isfinite(plain) || plain == 0 || base.high == 0 || exponent.high == 0) return plain;
  const DoubleDouble magnitude = Exp(exponent * Log(base.high < 0 ? -base : base));
  return plain < 0 ? -magnitude : magnitude;
}

DoubleDouble Exp2(const DoubleDouble& x) {
  const double plain = std::exp2(x.high);
  if (!std::isfinite(plain) || plain < std::numeric_limits<double>::min()) return plain;
  const double k = std::nearbyint(x.high);
  return Scaled(Exp((x - k) * kLn2), static_cast<int>(k));
}

DoubleDouble Log2(const DoubleDouble& x) {
  if (!std::isfinite(std::log2(x.high))) return std::log2(x.high);
  int exponent = 0;
  const bool is_power = std::frexp(x.high, &exponent) == 0.5 && x.low == 0;
  return is_power ? DoubleDouble(exponent - 1) : Log(x) / kLn2;
}

DoubleDouble Asin(const DoubleDouble& x) {
  if (!(std::fabs(x.high) < 1)) return std::asin(x.high);
  return Atan2(x, Sqrt((DoubleDouble(1) - x) * (DoubleDouble(1) + x)));
}
DoubleDouble Acos(const DoubleDouble& x) {
  if (!(std::fabs(x.high) < 1)) return std::acos(x.high);
  return Atan2(Sqrt((DoubleDouble(1) - x) * (DoubleDouble(1) + x)), x);
}

// The terms of these logarithms are small for arguments near 0, so log1p cancels nothing.
DoubleDouble Asinh(const DoubleDouble& x) {
  if (x.high == 0 || !std::isfinite(x.high)) return std::asinh(x.high);
  const DoubleDouble size = x.high < 0 ? -x : x;
  DoubleDouble result = Log(size) + kLn2;
  if (size.high < kLarge) {
    const DoubleDouble square = size * size;
    result = Log1p(size + square / (DoubleDouble(1) + Sqrt(DoubleDouble(1) + square)));
  }
  return x.high < 0 ? -result : result;
}
DoubleDouble Acosh(const DoubleDouble& x) {
  if (!(x.high > 1 && std::isfinite(x.high))) return std::acosh(x.high);
  if (x.high >= kLarge) return Log(x) + kLn2;
  const DoubleDouble rest = x - 1.0;
  return Log1p(rest + Sqrt(rest * (rest + 2.0)));
}
DoubleDouble Atanh(const DoubleDouble& x) {
  if (x.high == 0 || !(std::fabs(x.high) < 1)) return std::atanh(x.high);
  return Log1p(x * 2.0 / (DoubleDouble(1) - x)) / 2.0;
}

DoubleDouble Floor(const DoubleDouble& x) {
  const double high = std::floor(x.high);
  return high == x.high ? QuickTwoSum(high, std::floor(x.low)) : high;
}
DoubleDouble Ceil(const DoubleDouble& x) { return -Floor(-x); }

DoubleDouble RoundAway(const DoubleDouble& x) {
  if (!std::isfinite(x.high)) return x.high;
  const DoubleDouble size = x.high < 0 ? -x : x, rounded = Floor(size + 0.5);
  return x.high < 0 ? -rounded : rounded;
}
DoubleDouble RoundEven(const DoubleDouble& x) {
  if (!std::isfinite(x.high)) return x.high;
  const DoubleDouble below = Floor(x), rest = x - below;
  if (rest < 0.5) return below;
  if (DoubleDouble(0.5) < rest) return below + 1.0;
  const DoubleDouble half = below / 2.0;
  return half.high == Floor(half).high && half.low == Floor(half).low ? below : below + 1.0;
}

DoubleDouble Sign(const DoubleDouble& x) {
  return std::isnan(x.high) || x.high == 0 ? x.high : std::copysign(1.0, x.high);
}

DoubleDouble Remainder(const DoubleDouble& a, const DoubleDouble& b) {
  const double plain = std::fmod(a.high, b.high);
  const DoubleDouble quotient = a / b;
  if (!std::isfinite(plain) || !std::isfinite(b.high) || !(std::fabs(quotient.high) < 0x1p53)) return plain;
  DoubleDouble count = quotient.high < 0 ? Ceil(quotient) : Floor(quotient);
  DoubleDouble rest = a - b * count;
  // The quotient may have been rounded to the next integer.
  const bool is_negative = a.high < 0;
  if (rest.high != 0 && (rest.high < 0) != is_negative) rest = rest + ((b.high < 0) == is_negative ? b : -b);
  return rest;
}

}  // namespace hlo::debug
