#pragma once
// Complex functions, computed in f64; c64 results are rounded once. Special values follow Annex G of the C
// standard.

#include <cmath>
#include <limits>

#include "kernels/cuda/vm/vm.h"

namespace hlo::cuda {

template <class R>
struct alignas(2 * sizeof(R)) VmComplex {
  R re, im;
};

template <class R>
HLO_DEVICE R VmInfinityAsOne(R x) {
  return std::copysign(std::isinf(x) ? R{1} : R{0}, x);
}
// Multiplication according to Annex G: a (NaN, NaN) product with an infinite factor is infinite.
template <class R>
HLO_DEVICE VmComplex<R> VmMultiply(VmComplex<R> x, VmComplex<R> y) {
  R a = x.re, b = x.im, c = y.re, d = y.im;
  const R ac = a * c, bd = b * d, ad = a * d, bc = b * c;
  VmComplex<R> product{ac - bd, ad + bc};
  if (!(std::isnan(product.re) && std::isnan(product.im))) return product;
  bool recalculate = false;
  const auto zero_for_nan = [](R v) { return std::isnan(v) ? std::copysign(R{0}, v) : v; };
  if (std::isinf(a) || std::isinf(b)) {
    a = VmInfinityAsOne(a), b = VmInfinityAsOne(b);
    c = zero_for_nan(c), d = zero_for_nan(d);
    recalculate = true;
  }
  if (std::isinf(c) || std::isinf(d)) {
    c = VmInfinityAsOne(c), d = VmInfinityAsOne(d);
    a = zero_for_nan(a), b = zero_for_nan(b);
    recalculate = true;
  }
  if (!recalculate && (std::isinf(ac) || std::isinf(bd) || std::isinf(ad) || std::isinf(bc))) {
    a = zero_for_nan(a), b = zero_for_nan(b), c = zero_for_nan(c), d = zero_for_nan(d);
    recalculate = true;
  }
  const R infinity = std::numeric_limits<R>::infinity();
  if (recalculate) product = {infinity * (a * c - b * d), infinity * (a * d + b * c)};
  return product;
}

namespace vm_complex {

using Z = VmComplex<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.693147180559945309417232121458;

HLO_DEVICE bool IsFinite(Z z) { return std::isfinite(z.re) && std::isfinite(z.im); }
HLO_DEVICE Z TimesI(Z z) { return {-z.im, z.re}; }
HLO_DEVICE Z TimesMinusI(Z z) { return {z.im, -z.re}; }
HLO_DEVICE Z Conjugate(Z z) { return {z.re, -z.im}; }
HLO_DEVICE int ExponentOf(Z z) {
  const double larger = std::fmax(std::fabs(z.re), std::fabs(z.im));
  return larger > 0 && std::isfinite(larger) ? std::ilogb(larger) : 0;
}
HLO_DEVICE Z Scaled(Z z, int exponent) { return {std::scalbn(z.re, exponent), std::scalbn(z.im, exponent)}; }

// Both operands are scaled near 1, so that products neither overflow nor underflow.
HLO_DEVICE_CALLED Z Divide(Z x, Z y) {
  const int of_x = ExponentOf(x), of_y = ExponentOf(y);
  const Z p = Scaled(x, -of_x), q = Scaled(y, -of_y);
  const double norm = q.re * q.re + q.im * q.im;
  const Z quotient =
      Scaled({(p.re * q.re + p.im * q.im) / norm, (p.im * q.re - p.re * q.im) / norm}, of_x - of_y);
  if (!(std::isnan(quotient.re) && std::isnan(quotient.im))) return quotient;
  if (norm == 0 && !(std::isnan(x.re) && std::isnan(x.im))) {
    const double infinity = std::copysign(kInfinity, y.re);
    return {infinity * x.re, infinity * x.im};
  }
  if ((std::isinf(x.re) || std::isinf(x.im)) && IsFinite(y)) {
    const double a = VmInfinityAsOne(x.re), b = VmInfinityAsOne(x.im);
    return {kInfinity * (a * y.re + b * y.im), kInfinity * (b * y.re - a * y.im)};
  }
  if ((std::isinf(y.re) || std::isinf(y.im)) && IsFinite(x)) {
    const double c = VmInfinityAsOne(y.re), d = VmInfinityAsOne(y.im);
    return {0.0 * (x.re * c + x.im * d), 0.0 * (x.im * c - x.re * d)};
  }
  return quotient;
}

HLO_DEVICE_CALLED Z Sqrt(Z z) {
  if (z.re == 0 && z.im == 0) return {0, z.im};
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

// Returns e^x (cos y, sin y), even if e^x alone overflows.
HLO_DEVICE Z Polar(double x, double y) {
  const double half = std::exp(x / 2);
  return {half * std::cos(y) * half, half * std::sin(y) * half};
}
HLO_DEVICE_CALLED Z Exponential(Z z) {
  if (z.im == 0) return {std::exp(z.re), z.im};
  if (z.re == -kInfinity && !std::isfinite(z.im)) return {0, 0};
  if (z.re == kInfinity && !std::isfinite(z.im)) return {z.re, z.im - z.im};
  if (z.re > 700) return Polar(z.re, z.im);
  const double e = std::exp(z.re);
  return {e * std::cos(z.im), e * std::sin(z.im)};
}

// Returns log |z| without cancellation near the unit circle.
HLO_DEVICE double LogOfModulus(Z z) {
  const double a = std::fabs(z.re), b = std::fabs(z.im), large = std::fmax(a, b), small = std::fmin(a, b);
  if (large > 0.5 && large < 3 && small == small)
    return std::log1p(std::fma(large - 1, large + 1, small * small)) / 2;
  if (large > 1e300) return std::log(std::hypot(a / 4, b / 4)) + 2 * kLn2;
  return std::log(std::hypot(a, b));
}
HLO_DEVICE_CALLED Z Log(Z z) { return {LogOfModulus(z), std::atan2(z.im, z.re)}; }

HLO_DEVICE_CALLED Z Sinh(Z z) {
  if (z.im == 0) return {std::sinh(z.re), z.im};
  if (!std::isfinite(z.im)) {
    const double nan = z.im - z.im;
    return {z.re == 0 || std::isinf(z.re) ? z.re : nan, nan};
  }
  if (std::fabs(z.re) > 700 && std::isfinite(z.re)) {
    const Z grown = Polar(std::fabs(z.re), z.im);
    return {std::copysign(1.0, z.re) * grown.re / 2, grown.im / 2};
  }
  return {std::sinh(z.re) * std::cos(z.im), std::cosh(z.re) * std::sin(z.im)};
}
HLO_DEVICE_CALLED Z Cosh(Z z) {
  if (z.im == 0) return {std::cosh(z.re), std::isnan(z.re) ? z.im : std::copysign(1.0, z.re) * z.im};
  if (!std::isfinite(z.im)) {
    const double nan = z.im - z.im;
    return {std::isinf(z.re) ? kInfinity : nan, z.re == 0 ? z.re : nan};
  }
  if (std::fabs(z.re) > 700 && std::isfinite(z.re)) {
    const Z grown = Polar(std::fabs(z.re), z.im);
    return {grown.re / 2, std::copysign(1.0, z.re) * grown.im / 2};
  }
  if (z.re == 0) return {std::cos(z.im), std::sin(z.im) * z.re};
  return {std::cosh(z.re) * std::cos(z.im), std::sinh(z.re) * std::sin(z.im)};
}
// Computes (s sqrt(1 + s^2) (1 + t^2), t) / (1 + (1 + t^2) s^2) with t = tan y, s = sinh x.
HLO_DEVICE_CALLED Z Tanh(Z z) {
  if (z.im == 0) return {std::tanh(z.re), z.im};
  if (std::fabs(z.re) > 22) {
    const double one = std::copysign(1.0, z.re);
    if (!std::isfinite(z.im)) return {one, std::isinf(z.re) ? 0 : z.im - z.im};
    return {one, 4 * std::sin(z.im) * std::cos(z.im) * std::exp(-2 * std::fabs(z.re))};
  }
  if (!std::isfinite(z.im)) return {z.re == 0 ? z.re : z.im - z.im, z.im - z.im};
  const double t = std::tan(z.im), s = std::sinh(z.re), beta = 1 + t * t;
  if (beta > 1e30) return {1 / std::tanh(z.re), 1 / (t * s * s)};  // y is close to pi / 2.
  const double below = 1 + beta * s * s;
  return {beta * std::sqrt(1 + s * s) * s / below, t / below};
}

// The inverse functions use square roots of 1 + z and 1 - z, which avoid cancellation.
HLO_DEVICE_CALLED Z Acos(Z z) {
  if (!IsFinite(z)) {
    if (std::isinf(z.im)) {
      const double angle = std::isnan(z.re)   ? z.re
                           : std::isinf(z.re) ? (z.re < 0 ? 3 : 1) * 0.78539816339744830962
                                              : 1.57079632679489661923;
      return {angle, -z.im};
    }
    if (std::isinf(z.re))
      return {std::isnan(z.im) ? z.im
              : z.re < 0       ? 3.14159265358979323846
                               : 0.0,
              -std::copysign(kInfinity, z.im)};
    const double nan = z.re + z.im;
    return {z.re == 0 ? 1.57079632679489661923 : nan, nan};
  }
  if (ExponentOf(z) > 60) {  // 1 is negligible compared with z.
    const Z log = Log({std::fabs(z.re), std::fabs(z.im)});
    return {std::atan2(std::fabs(z.im), z.re), -std::copysign(log.re + kLn2, z.im)};
  }
  const Z below = Sqrt({1 - z.re, -z.im}), above = Sqrt({1 + z.re, z.im});
  return {2 * std::atan2(below.re, above.re), std::asinh(above.re * below.im - above.im * below.re)};
}
HLO_DEVICE_CALLED Z Asin(Z z) {
  if (!IsFinite(z) || ExponentOf(z) > 60) {
    const Z acos = Acos(z);
    const double angle = std::isinf(z.im) && !std::isinf(z.re) && !std::isnan(z.re) ? std::copysign(0.0, z.re)
                         : z.re == 0                                                ? z.re
                         : std::isfinite(z.re) && std::isfinite(z.im) ? std::atan2(z.re, std::fabs(z.im))
                                                                      : 1.57079632679489661923 - acos.re;
    return {angle, -acos.im};
  }
  const Z below = Sqrt({1 - z.re, -z.im}), above = Sqrt({1 + z.re, z.im});
  return {std::atan2(z.re, below.re * above.re - below.im * above.im),
          std::asinh(below.re * above.im - below.im * above.re)};
}
// acosh z is i acos z or its negation, whichever has a non-negative real part.
HLO_DEVICE_CALLED Z Acosh(Z z) {
  const Z acos = Acos(z);
  if (std::isnan(acos.im) && !std::isnan(acos.re)) return {acos.im, acos.im};
  return std::signbit(acos.im) || std::isnan(acos.im) ? Z{-acos.im, acos.re} : Z{acos.im, -acos.re};
}
HLO_DEVICE_CALLED Z Atanh(Z z) {
  constexpr double kHalfPi = 1.57079632679489661923;
  if (!IsFinite(z)) {
    if (std::isinf(z.im) || (std::isinf(z.re) && std::isfinite(z.im)))
      return {std::copysign(0.0, z.re), std::copysign(kHalfPi, z.im)};
    if (std::isinf(z.re)) return {std::copysign(0.0, z.re), z.im};
    return {z.re == 0 ? z.re : z.re + z.im, z.re + z.im};
  }
  const int exponent = ExponentOf(z);
  if (exponent > 60) {  // Approximately 1 / z, with imaginary part pi / 2.
    const Z inverse = Divide({1, 0}, z);
    return {inverse.re, std::copysign(kHalfPi, z.im)};
  }
  const double y2 = z.im * z.im, away = 1 - z.re;
  const double below = away * away + y2;
  const double re =
      below == 0
          ? std::copysign(kInfinity, z.re)
          : std::copysign(
                std::log1p(4 * std::fabs(z.re) / ((1 - std::fabs(z.re)) * (1 - std::fabs(z.re)) + y2)) / 4,
                z.re);
  return {re, std::atan2(2 * z.im, away * (1 + z.re) - y2) / 2};
}

HLO_DEVICE Z Power(Z base, Z exponent) {
  if ((base.re == 1 && base.im == 0) || (exponent.re == 0 && exponent.im == 0)) return {1, 0};
  if (base.re == kInfinity && base.im == 0 && exponent.im == 0) return exponent.re > 0 ? base : Z{0, 0};
  return Exponential(VmMultiply(exponent, Log(base)));
}
// Returns -i log((x + iy) / sqrt(x^2 + y^2)).
HLO_DEVICE Z Atan2(Z y, Z x) {
  const Z iy = VmMultiply({0, 1}, y), xx = VmMultiply(x, x), yy = VmMultiply(y, y);
  const Z log = Log(Divide({x.re + iy.re, x.im + iy.im}, Sqrt({xx.re + yy.re, xx.im + yy.im})));
  return VmMultiply({-0.0, -1}, log);
}
// The real part of e^z - 1 is expm1(x) cos y - 2 sin^2(y/2).
HLO_DEVICE Z ExponentialMinusOne(Z z) {
  if (z.im == 0) return {std::expm1(z.re), z.im};
  const double half = std::sin(z.im / 2);
  return {std::expm1(z.re) * std::cos(z.im) - 2 * half * half, std::exp(z.re) * std::sin(z.im)};
}
// Uses |1 + z|^2 - 1 = x(x + 2) + y^2 for small z.
HLO_DEVICE Z LogPlusOne(Z z) {
  if (std::fabs(z.re) > 0.5 || std::fabs(z.im) > 0.5) return Log({z.re + 1, z.im});
  return {std::log1p(z.re * (z.re + 2) + z.im * z.im) / 2, std::atan2(z.im, z.re + 1)};
}
HLO_DEVICE Z Exp2(Z z) { return Exponential({z.re * kLn2, z.im * kLn2}); }
HLO_DEVICE Z Log2(Z z) {
  const Z log = Log(z);
  return {log.re / kLn2, log.im / kLn2};
}
HLO_DEVICE Z Logistic(Z z) {
  const Z e = Exponential({-z.re, -z.im});
  return Divide({1, 0}, {1 + e.re, e.im});
}
HLO_DEVICE Z Rsqrt(Z z) { return Divide({1, 0}, Sqrt(z)); }
HLO_DEVICE Z Sine(Z z) { return TimesMinusI(Sinh(TimesI(z))); }
HLO_DEVICE Z Cosine(Z z) { return Cosh(TimesI(z)); }
HLO_DEVICE Z Tan(Z z) { return TimesMinusI(Tanh(TimesI(z))); }
HLO_DEVICE Z Asinh(Z z) { return TimesMinusI(Asin(TimesI(z))); }
HLO_DEVICE Z Sign(Z z) {
  if (z.re == 0 && z.im == 0) return {0, 0};
  const double modulus = std::hypot(z.re, z.im);
  return {z.re / modulus, z.im / modulus};
}

}  // namespace vm_complex

// The operations with complex results that vm_complex defines, with their operands. An operation without a
// row runs on the CPU.
// clang-format off
#define HLO_VM_COMPLEX_FUNCTIONS(X)                                                                         \
  X(Divide, a, b) X(Power, a, b) X(Atan2, a, b) X(Sign, a) X(Sqrt, a) X(Rsqrt, a)                           \
  X(Exponential, a) X(Exp2, a) X(ExponentialMinusOne, a) X(Log, a) X(Log2, a) X(LogPlusOne, a)              \
  X(Logistic, a) X(Sinh, a) X(Cosh, a) X(Tanh, a) X(Sine, a) X(Cosine, a)                                   \
  X(Tan, a) X(Asin, a) X(Acos, a) X(Asinh, a) X(Acosh, a) X(Atanh, a)
// clang-format on

HLO_DEVICE_CALLED VmComplex<double> VmComplexFunction(VmOp op, VmComplex<double> a, VmComplex<double> b) {
  switch (op) {
#define HLO_CASE(name, ...) \
  case VmOp::k##name:       \
    return vm_complex::name(__VA_ARGS__);
    HLO_VM_COMPLEX_FUNCTIONS(HLO_CASE)
#undef HLO_CASE
    default:
      return a;
  }
}

}  // namespace hlo::cuda
