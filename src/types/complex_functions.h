#pragma once
// Functions of complex numbers (semantics 3.8), for every engine and for GPUs. Zeros, infinities and NaNs are
// those of XLA:CPU, except for sqrt and abs, which follow Annex G of C. Finite results are accurate where
// XLA:CPU's formulas overflow, underflow or cancel. Everything except products is computed in f64.

#include <cmath>
#include <limits>

#include "base/host_device.h"

namespace hlo {

template <class R>
struct alignas(2 * sizeof(R)) ComplexParts {
  R re, im;
};

namespace complex_functions {

using Z = ComplexParts<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr double kLargestExponent = 709;  // Larger exponentials may overflow.
constexpr double kModerate = 1e150;       // Products of two moderate numbers do not overflow.

// Infinite factors are not recovered as in Annex G. GCC 12 would contract a difference of products in vector
// loops.
template <class R>
HLO_HOST_DEVICE ComplexParts<R> Multiply(ComplexParts<R> x, ComplexParts<R> y) {
  return {x.re * y.re + -x.im * y.im, x.re * y.im + x.im * y.re};
}

HLO_HOST_DEVICE bool IsFinite(Z z) { return std::isfinite(z.re) && std::isfinite(z.im); }
HLO_HOST_DEVICE bool IsInfinite(Z z) { return std::isinf(z.re) || std::isinf(z.im); }
HLO_HOST_DEVICE bool HasNan(Z z) { return std::isnan(z.re) || std::isnan(z.im); }
HLO_HOST_DEVICE bool IsZero(Z z) { return z.re == 0 && z.im == 0; }
HLO_HOST_DEVICE Z TimesI(Z z) { return {-z.im, z.re}; }
HLO_HOST_DEVICE Z TimesMinusI(Z z) { return {z.im, -z.re}; }
HLO_HOST_DEVICE double Larger(Z z) { return std::fmax(std::fabs(z.re), std::fabs(z.im)); }
HLO_HOST_DEVICE int ExponentOf(Z z) {
  const double larger = Larger(z);
  return larger > 0 && std::isfinite(larger) ? std::ilogb(larger) : 0;
}
HLO_HOST_DEVICE Z Scaled(Z z, int exponent) {
  return {std::scalbn(z.re, exponent), std::scalbn(z.im, exponent)};
}
// Reduces an infinity to 1 and other numbers to 0, with their signs.
HLO_HOST_DEVICE double InfinityAsOne(double x) { return std::copysign(std::isinf(x) ? 1.0 : 0.0, x); }

// Smith's algorithm divides by the larger part of the divisor first.
HLO_HOST_DEVICE Z SmithQuotient(Z x, Z y) {
  if (std::fabs(y.re) < std::fabs(y.im)) {
    const double ratio = y.re / y.im, divisor = y.im + ratio * y.re;
    return {(x.re * ratio + x.im) / divisor, (x.im * ratio - x.re) / divisor};
  }
  const double ratio = y.im / y.re, divisor = y.re + ratio * y.im;
  return {(x.re + x.im * ratio) / divisor, (x.im - x.re * ratio) / divisor};
}

// Returns true if Smith's algorithm cannot overflow or lose the smaller part of the divisor.
HLO_HOST_DEVICE bool IsModerateDivisor(Z y) {
  const double larger = Larger(y), smaller = std::fmin(std::fabs(y.re), std::fabs(y.im));
  return larger < 1e307 && (smaller == 0 || smaller > larger * 1e-290);
}
HLO_HOST_DEVICE_CALLED Z Divide(Z x, Z y) {
  const Z quotient = SmithQuotient(x, y);
  if (IsFinite(x) && IsFinite(y) && !IsZero(y)) {
    if (IsFinite(quotient) && IsModerateDivisor(y)) return quotient;
    const int of_x = ExponentOf(x), of_y = ExponentOf(y);
    return Scaled(SmithQuotient(Scaled(x, -of_x), Scaled(y, -of_y)), of_x - of_y);
  }
  if (!(std::isnan(quotient.re) && std::isnan(quotient.im))) return quotient;
  if (IsZero(y) && !(std::isnan(x.re) && std::isnan(x.im))) {
    const double infinity = std::copysign(kInfinity, y.re);
    return {infinity * x.re, infinity * x.im};
  }
  if (IsInfinite(x) && IsFinite(y)) {
    const double a = InfinityAsOne(x.re), b = InfinityAsOne(x.im);
    return {kInfinity * (a * y.re + b * y.im), kInfinity * (b * y.re - a * y.im)};
  }
  if (IsInfinite(y) && IsFinite(x)) {
    const double c = InfinityAsOne(y.re), d = InfinityAsOne(y.im);
    return {0.0 * (x.re * c + x.im * d), 0.0 * (x.im * c - x.re * d)};
  }
  return quotient;
}

// An infinite part outweighs a NaN.
HLO_HOST_DEVICE double Abs(Z z) { return std::hypot(z.re, z.im); }

// Returns zeros as they are.
HLO_HOST_DEVICE Z Sign(Z z) {
  if (IsZero(z)) return z;
  double modulus = Abs(z);
  if (std::isinf(modulus) && IsFinite(z)) z = Scaled(z, -1), modulus = Abs(z);
  return {z.re / modulus, z.im / modulus};
}

HLO_HOST_DEVICE_CALLED Z Sqrt(Z z) {
  if (IsZero(z)) return {0, z.im};
  if (std::isinf(z.im)) return {kInfinity, z.im};
  if (std::isnan(z.re)) return {z.re, z.re};
  if (std::isinf(z.re)) {
    const double rest = std::fabs(z.im - z.im);  // 0 or NaN.
    return z.re > 0 ? Z{z.re, std::copysign(rest, z.im)} : Z{rest, std::copysign(kInfinity, z.im)};
  }
  const int exponent = ExponentOf(z) / 2 * 2;
  const Z s = Scaled(z, -exponent);
  const double t = std::sqrt((std::fabs(s.re) + std::hypot(s.re, s.im)) / 2),
               other = std::fabs(s.im) / (2 * t);
  const Z root = s.re >= 0 ? Z{t, std::copysign(other, z.im)} : Z{other, std::copysign(t, z.im)};
  return Scaled(root, exponent / 2);
}

// The imaginary part has the sign of -im, also if it is zero.
HLO_HOST_DEVICE Z Rsqrt(Z z) {
  if (std::isinf(z.re)) return {std::copysign(0.0, z.re), std::copysign(0.0, -z.im)};
  if (std::isinf(z.im)) return {0, std::copysign(0.0, -z.im)};
  const Z inverse = Divide({1, 0}, Sqrt(z));
  return {inverse.re, inverse.im == 0 ? std::copysign(0.0, -z.im) : inverse.im};
}

HLO_HOST_DEVICE Z Polar(double modulus, double angle) {
  return {modulus * std::cos(angle), modulus * std::sin(angle)};
}
// An imaginary zero loses its sign. The modulus of a finite result may overflow.
HLO_HOST_DEVICE_CALLED Z Exponential(Z z) {
  const double power = std::exp(z.re);
  if (z.im == 0) return {power, 0};
  if (!std::isinf(power)) return Polar(power, z.im);
  const double half = std::exp(z.re / 2);
  const Z root = Polar(half, z.im);
  return {root.re * half, root.im * half};
}
HLO_HOST_DEVICE Z Exp2(Z z) {
  const double power = std::exp2(z.re);
  if (z.im == 0) return {power, 0};
  const bool is_usual = power > 0x1p-1000 && power < 0x1p1000;
  return is_usual ? Polar(power, z.im * kLn2) : Exponential({z.re * kLn2, z.im * kLn2});
}
// The real part is expm1(x) cos y + (cos y - 1), and never -0.
HLO_HOST_DEVICE Z ExponentialMinusOne(Z z) {
  if (z.im == 0) return {std::expm1(z.re) + 0.0, 0};
  if (z.re > kLargestExponent) return Exponential(z);
  const double half = std::sin(z.im / 2);
  return {std::expm1(z.re) * std::cos(z.im) + (0.0 - 2 * half * half), std::exp(z.re) * std::sin(z.im)};
}
// expm1 and 1 + cos y = 2 cos^2(y / 2) give 1 + e^-z where e^-z may be close to -1.
HLO_HOST_DEVICE Z Logistic(Z z) {
  const Z e = Exponential({-z.re, -z.im});
  if (!(std::fabs(z.re) < 1)) return Divide({1, 0}, {1 + e.re, e.im});
  const double half = std::cos(z.im / 2);
  return Divide({1, 0}, {std::expm1(-z.re) * std::cos(z.im) + 2 * half * half, e.im});
}

// Returns log |z|, near the unit circle from the exact |z|^2 - 1.
HLO_HOST_DEVICE double LogOfModulus(Z z) {
  if (HasNan(z)) return z.re + z.im;
  const double a = std::fabs(z.re), b = std::fabs(z.im), large = std::fmax(a, b), small = std::fmin(a, b);
  if (large > 0.5 && large < 2) {
    const double p = large * large, q = small * small;
    const double rest = std::fma(large, large, -p) + std::fma(small, small, -q);
    return std::log1p((p - 1) + q + rest) / 2;
  }
  if (large > 1e300 && large < kInfinity) return std::log(std::hypot(a / 4, b / 4)) + 2 * kLn2;
  if (large < 1e-300 && large > 0) return std::log(std::hypot(a * 0x1p100, b * 0x1p100)) - 100 * kLn2;
  return std::log(std::hypot(a, b));
}
HLO_HOST_DEVICE_CALLED Z Log(Z z) { return {LogOfModulus(z), std::atan2(z.im, z.re)}; }
HLO_HOST_DEVICE Z Log2(Z z) {
  const Z log = Log(z);
  return {log.re / kLn2, log.im / kLn2};
}
// Uses |1 + z|^2 - 1 = x(x + 2) + y^2 for small z.
HLO_HOST_DEVICE Z LogPlusOne(Z z) {
  if (std::fabs(z.re) > 0.5 || std::fabs(z.im) > 0.5) return Log({z.re + 1, z.im});
  return {std::log1p(z.re * (z.re + 2) + z.im * z.im) / 2, std::atan2(z.im, z.re + 1)};
}

// Computes base^exponent in polar coordinates. The logarithm of the modulus replaces the modulus if one of
// the factors of the result's modulus overflows or underflows.
HLO_HOST_DEVICE_CALLED Z PolarPower(Z base, Z exponent) {
  const double log = LogOfModulus(base), angle = std::atan2(base.im, base.re);
  const double turn = exponent.re * angle + exponent.im * log;
  const double modulus = HasNan(base) ? log : Abs(base);
  const double grown = std::pow(modulus, exponent.re), shrunk = std::exp(-exponent.im * angle);
  const double size = grown * shrunk, smallest = std::numeric_limits<double>::min();
  const bool is_exact = modulus >= smallest && modulus < kInfinity && grown >= smallest &&
                        grown < kInfinity && shrunk >= smallest && shrunk < kInfinity && size < kInfinity;
  if (!is_exact && IsFinite(base) && IsFinite(exponent) && !IsZero(base)) {
    const double log_size = exponent.re * log - exponent.im * angle;
    return log_size == -kInfinity ? Z{0, 0} : Exponential({log_size, turn});
  }
  return Polar(size, turn);
}
HLO_HOST_DEVICE Z Power(Z base, Z exponent) {
  if ((base.re == 1 && base.im == 0) || IsZero(exponent)) return {1, 0};
  const bool is_real = base.im == 0 && exponent.im == 0;
  if (is_real && base.re == 0 && exponent.re > 0) return {0, 0};
  if (is_real && base.re == kInfinity && !std::isnan(exponent.re))
    return {exponent.re > 0 ? kInfinity : 0.0, 0};
  return PolarPower(base, exponent);
}

// sinh(0) and sinh(-0) are 0.
HLO_HOST_DEVICE double UnsignedSinh(double x) { return x == 0 ? 0.0 : std::sinh(x); }
// Returns (c cosh y, s sinh y), even if cosh y alone overflows.
HLO_HOST_DEVICE Z TimesHyperbolic(double c, double s, double y) {
  if (std::fabs(y) < kLargestExponent || !std::isfinite(y)) return {c * std::cosh(y), s * UnsignedSinh(y)};
  const double half = std::exp(std::fabs(y) / 2), grown = std::copysign(half, y);
  return {c == 0 ? c : c / 2 * half * half, s == 0 ? std::copysign(s, s * y) : s / 2 * half * grown};
}
HLO_HOST_DEVICE Z Sine(Z z) { return TimesHyperbolic(std::sin(z.re), std::cos(z.re), z.im); }
HLO_HOST_DEVICE Z Cosine(Z z) { return TimesHyperbolic(std::cos(z.re), std::sin(z.re), -z.im); }

// Computes (s sqrt(1 + s^2) (1 + t^2), t) / (1 + (1 + t^2) s^2) with t = tan y, s = sinh x. An imaginary zero
// loses its sign.
HLO_HOST_DEVICE_CALLED Z Tanh(Z z) {
  if (z.im == 0) return {std::tanh(z.re), 0};
  if (!std::isfinite(z.im)) {
    const double nan = z.im - z.im;
    return std::isinf(z.re) ? Z{std::copysign(1.0, z.re), 0} : Z{nan, nan};
  }
  if (std::fabs(z.re) > 22)
    return {std::copysign(1.0, z.re), 4 * std::sin(z.im) * std::cos(z.im) * std::exp(-2 * std::fabs(z.re))};
  const double t = std::tan(z.im), s = std::sinh(z.re), beta = 1 + t * t;
  const double below = 1 + beta * s * s;
  return {beta * std::sqrt(1 + s * s) * s / below, t / below};
}
HLO_HOST_DEVICE Z Tan(Z z) { return TimesMinusI(Tanh(TimesI(z))); }

// Returns -i log((x + iy) / sqrt(x^2 + y^2)). Scaling both operands does not change it.
HLO_HOST_DEVICE Z Atan2(Z y, Z x) {
  const double larger = std::fmax(Larger(x), Larger(y));
  if (larger > kModerate || larger < 1 / kModerate) {
    const int exponent = ExponentOf({larger, 0});
    x = Scaled(x, -exponent), y = Scaled(y, -exponent);
  }
  const Z iy = Multiply(Z{0, 1}, y), xx = Multiply(x, x), yy = Multiply(y, y);
  const Z log = Log(Divide({x.re + iy.re, x.im + iy.im}, Sqrt({xx.re + yy.re, xx.im + yy.im})));
  return Multiply(Z{-0.0, -1}, log);
}

}  // namespace complex_functions
}  // namespace hlo
