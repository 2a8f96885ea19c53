#pragma once
// Arithmetic on unevaluated sums of two doubles, which have about 106 bits.

#include <cmath>

namespace hlo::debug {

struct DoubleDouble {
  double high = 0, low = 0;  // |low| is at most half an ULP of high.

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) {}  // NOLINT: converts implicitly.
  DoubleDouble(double high, double low) : high(high), low(low) {}
};

// Returns a + b exactly, for any a and b, and for |a| >= |b|.
inline DoubleDouble TwoSum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
inline DoubleDouble QuickTwoSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
inline DoubleDouble TwoProduct(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(const DoubleDouble& a) { return {-a.high, -a.low}; }
inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  DoubleDouble sum = TwoSum(a.high, b.high);
  if (!std::isfinite(sum.high)) return sum.high;
  const DoubleDouble rest = TwoSum(a.low, b.low);
  sum = QuickTwoSum(sum.high, sum.low + rest.high);
  return QuickTwoSum(sum.high, sum.low + rest.low);
}
inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  DoubleDouble product = TwoProduct(a.high, b.high);
  if (!std::isfinite(product.high)) return product.high;
  return QuickTwoSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.high / b.high;
  if (!std::isfinite(first) || !std::isfinite(b.high)) return first;
  DoubleDouble rest = a - b * first;
  const double second = rest.high / b.high;
  rest = rest - b * second;
  return QuickTwoSum(first, second) + rest.high / b.high;
}
// Returns a * 2^exponent.
inline DoubleDouble Scaled(const DoubleDouble& a, int exponent) {
  return {std::ldexp(a.high, exponent), std::ldexp(a.low, exponent)};
}
inline bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

inline const DoubleDouble kLn2(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);

// Elementary functions, to about 100 bits. They give NaN or an infinity for the arguments for which a double
// does.
DoubleDouble Sqrt(const DoubleDouble& x);
DoubleDouble Cbrt(const DoubleDouble& x);
DoubleDouble Exp(const DoubleDouble& x);
DoubleDouble Expm1(const DoubleDouble& x);
DoubleDouble Log(const DoubleDouble& x);
DoubleDouble Log1p(const DoubleDouble& x);
DoubleDouble Sin(const DoubleDouble& x);
DoubleDouble Cos(const DoubleDouble& x);
DoubleDouble Tanh(const DoubleDouble& x);
DoubleDouble Sinh(const DoubleDouble& x);
DoubleDouble Cosh(const DoubleDouble& x);
DoubleDouble Atan2(const DoubleDouble& y, const DoubleDouble& x);
DoubleDouble Erf(const DoubleDouble& x);
DoubleDouble Pow(const DoubleDouble& base, const DoubleDouble& exponent);
DoubleDouble Exp2(const DoubleDouble& x);
DoubleDouble Log2(const DoubleDouble& x);
DoubleDouble Asin(const DoubleDouble& x);
DoubleDouble Acos(const DoubleDouble& x);
DoubleDouble Asinh(const DoubleDouble& x);
DoubleDouble Acosh(const DoubleDouble& x);
DoubleDouble Atanh(const DoubleDouble& x);

// Exact functions.
DoubleDouble Floor(const DoubleDouble& x);
DoubleDouble Ceil(const DoubleDouble& x);
// Round to the nearest integer; ties go away from zero, and to an even integer.
DoubleDouble RoundAway(const DoubleDouble& x);
DoubleDouble RoundEven(const DoubleDouble& x);
DoubleDouble Sign(const DoubleDouble& x);
// Returns a - n b for the integer n = a / b, truncated; exact if n has at most 53 bits.
DoubleDouble Remainder(const DoubleDouble& a, const DoubleDouble& b);

}  // namespace hlo::debug
