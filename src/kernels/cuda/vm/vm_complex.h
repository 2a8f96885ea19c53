#pragma once
// The complex functions that types/complex_functions.h leaves to the C library, and the table of all
// functions, computed in f64; c64 results are rounded once. Special values follow Annex G of the C standard.

#include <cmath>
#include <limits>

#include "kernels/cuda/vm/vm.h"
#include "types/complex_functions.h"

namespace hlo::cuda {

template <class R>
using VmComplex = ComplexParts<R>;

namespace vm_complex {

using namespace complex_functions;  // NOLINT(google-build-using-namespace): extends the namespace.

// Returns exp(z) / 2, which is finite for real parts up to ln 2 above those of finite exponentials.
HLO_DEVICE Z HalfExponential(Z z) {
  constexpr double kHalfE = 1.35914091422952261768;
  const Z reduced = Exponential({z.re - 1, z.im});
  return {reduced.re * kHalfE, reduced.im * kHalfE};
}
HLO_DEVICE_CALLED Z Sinh(Z z) {
  if (z.im == 0) return {std::sinh(z.re), z.im};
  if (!std::isfinite(z.im)) {
    const double nan = z.im - z.im;
    return {z.re == 0 ? z.re : std::isinf(z.re) ? kInfinity : nan, nan};
  }
  if (std::fabs(z.re) > 700 && std::isfinite(z.re)) {
    const Z grown = HalfExponential({std::fabs(z.re), z.im});
    return {std::copysign(1.0, z.re) * grown.re, grown.im};
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
    const Z grown = HalfExponential({std::fabs(z.re), z.im});
    return {grown.re, std::copysign(1.0, z.re) * grown.im};
  }
  if (z.re == 0) return {std::cos(z.im), std::sin(z.im) * z.re};
  return {std::cosh(z.re) * std::cos(z.im), std::sinh(z.re) * std::sin(z.im)};
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
  if (ExponentOf(z) < -60) return {1.57079632679489661923 - z.re, -z.im};  // Half of z.im may be subnormal.
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
  if (ExponentOf(z) < -60) return z;
  const Z below = Sqrt({1 - z.re, -z.im}), above = Sqrt({1 + z.re, z.im});
  return {std::atan2(z.re, below.re * above.re - below.im * above.im),
          std::asinh(below.re * above.im - below.im * above.re)};
}
// acosh z is i acos z or its negation, whichever has a non-negative real part.
HLO_DEVICE_CALLED Z Acosh(Z z) {
  const Z acos = Acos(z);
  if (std::isnan(acos.im) && !std::isnan(acos.re)) return {acos.im, acos.re};
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
  const double x = std::fabs(z.re), y2 = z.im * z.im;
  const double below = (1 - x) * (1 - x) + y2;
  // The square of z.im underflows only if x is 1.
  const double re = below < 1e-290 ? (kLn2 - std::log(std::fabs(z.im))) / 2 : std::log1p(4 * x / below) / 4;
  return {std::copysign(re, z.re), std::atan2(2 * z.im, (1 - z.re) * (1 + z.re) - y2) / 2};
}

HLO_DEVICE Z Asinh(Z z) { return TimesMinusI(Asin(TimesI(z))); }

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
