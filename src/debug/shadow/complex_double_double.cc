#include "debug/shadow/complex_double_double.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "types/scalar_ops.h"

namespace hlo::debug {
namespace {

using Complex = ComplexDoubleDouble;
using Plain = std::complex<double>;

Complex Scaled(const Complex& a, int exponent) {
  return {Scaled(a.real, exponent), Scaled(a.imag, exponent)};
}
// Returns the exponent of the larger part of a finite number. Squares of numbers that are divided by this
// power of two neither overflow nor lose bits.
int ExponentOf(const Complex& a) {
  int exponent = 0;
  std::frexp(std::max(std::fabs(a.real.high), std::fabs(a.imag.high)), &exponent);
  return exponent;
}
DoubleDouble SquareOf(const Complex& a) { return a.real * a.real + a.imag * a.imag; }

DoubleDouble Modulus(const Complex& a) {
  const int exponent = ExponentOf(a);
  return Scaled(Sqrt(SquareOf(Scaled(a, -exponent))), exponent);
}
Complex Extended(const Plain& a) { return {a.real(), a.imag()}; }
Complex TimesI(const Complex& a) { return {-a.imag, a.real}; }

Complex Exp(const Complex& z) {
  const DoubleDouble size = Exp(z.real);
  return {size * Cos(z.imag), size * Sin(z.imag)};
}
// exp(x + iy) - 1 = expm1(x) cos y - 2 sin^2(y/2) + i exp(x) sin y.
Complex Expm1(const Complex& z) {
  const DoubleDouble half = Sin(z.imag / 2.0);
  return {Expm1(z.real) * Cos(z.imag) - half * half * 2.0, Exp(z.real) * Sin(z.imag)};
}
// log |1 + z| = log1p(x (x + 2) + y^2) / 2.
Complex Log1p(const Complex& z) {
  const DoubleDouble shifted = z.real + 1.0;
  return {Log1p(z.real * (z.real + 2.0) + z.imag * z.imag) / 2.0, Atan2(z.imag, shifted)};
}
Complex Log(const Complex& z) {
  const DoubleDouble angle = Atan2(z.imag, z.real);
  const double square = z.real.high * z.real.high + z.imag.high * z.imag.high;
  if (square > 0.5 && square < 2)
    return {Log1p((z.real - 1.0) * (z.real + 1.0) + z.imag * z.imag) / 2.0, angle};
  const int exponent = ExponentOf(z);
  return {Log(SquareOf(Scaled(z, -exponent))) / 2.0 + kLn2 * static_cast<double>(exponent), angle};
}

// The larger part of the root is sqrt((|x| + |z|) / 2).
Complex Sqrt(const Complex& z) {
  if (IsZero(z)) return z;
  const DoubleDouble size = z.real.high < 0 ? -z.real : z.real;
  const int exponent = ExponentOf(z) / 2;
  const DoubleDouble large =
      Scaled(Sqrt((Scaled(size, -2 * exponent) + Scaled(Modulus(z), -2 * exponent)) / 2.0), exponent);
  const DoubleDouble small = z.imag / large / 2.0;
  if (z.real.high >= 0 && !std::signbit(z.real.high)) return {large, small};
  return std::signbit(z.imag.high) ? Complex(-small, -large) : Complex(small, large);
}

Complex Sinh(const Complex& z) { return {Sinh(z.real) * Cos(z.imag), Cosh(z.real) * Sin(z.imag)}; }
Complex Cosh(const Complex& z) { return {Cosh(z.real) * Cos(z.imag), Sinh(z.real) * Sin(z.imag)}; }
// tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y).
Complex Tanh(const Complex& z) {
  constexpr double kFlat = 300;  // The square of a larger hyperbolic sine overflows.
  if (std::fabs(z.real.high) > kFlat) return Extended(std::tanh(z.high()));
  const DoubleDouble sinh = Sinh(z.real), cosine = Cos(z.imag);
  return Complex(sinh * Cosh(z.real), Sin(z.imag) * cosine) / (sinh * sinh + cosine * cosine);
}
// Trigonometric functions are hyperbolic ones of iz.
Complex Sin(const Complex& z) { return -TimesI(Sinh(TimesI(z))); }
Complex Cos(const Complex& z) { return Cosh(TimesI(z)); }
Complex Tan(const Complex& z) { return -TimesI(Tanh(TimesI(z))); }

// Inverse functions by Kahan's formulas, which keep the branches.
Complex Asin(const Complex& z) {
  const Complex below = Sqrt(Complex(1.0) - z), above = Sqrt(Complex(1.0) + z);
  return {Atan2(z.real, (below * above).real), Asinh((Conjugate(below) * above).imag)};
}
Complex Acos(const Complex& z) {
  const Complex below = Sqrt(Complex(1.0) - z), above = Sqrt(Complex(1.0) + z);
  return {Atan2(below.real, above.real) * 2.0, Asinh((Conjugate(above) * below).imag)};
}
Complex Acosh(const Complex& z) {
  const Complex below = Sqrt(z - Complex(1.0)), above = Sqrt(z + Complex(1.0));
  return {Asinh((Conjugate(below) * above).real), Atan2(below.imag, above.real) * 2.0};
}
Complex Asinh(const Complex& z) { return -TimesI(Asin(TimesI(z))); }
// atanh is odd. log |(1 + z) / (1 - z)| = log1p(4x / ((1 - x)^2 + y^2)) / 2.
Complex Atanh(const Complex& z) {
  if (z.real.high < 0) return -Atanh(-z);
  const DoubleDouble rest = DoubleDouble(1.0) - z.real, square = z.imag * z.imag;
  return {Log1p(z.real * 4.0 / (rest * rest + square)) / 4.0,
          Atan2(z.imag * 2.0, rest * (z.real + 1.0) - square) / 2.0};
}

Complex Pow(const Complex& base, const Complex& exponent) { return Exp(exponent * Log(base)); }
Complex Logistic(const Complex& z) { return Complex(1.0) / (Complex(1.0) + Exp(-z)); }
// Returns -i log((x + iy) / sqrt(x^2 + y^2)).
Complex Angle(const Complex& y, const Complex& x) {
  return -TimesI(Log((x + TimesI(y)) / Sqrt(x * x + y * y)));
}

// True if the value may differ from the one in f64 by its rounding. If it does not, f64 has overflowed, or
// rounding has moved it across a branch cut.
bool IsNear(const Complex& value, const Plain& plain, const Complex& a, const Complex& b) {
  const double size = std::abs(a.high()) + std::abs(b.high()) + 1;
  return std::abs(value.high() - plain) <= 0x1p-30 * std::abs(plain) + 0x1p-45 * size;
}

struct ComplexFunction {
  Opcode opcode;
  bool is_exact;  // Its result in f64 has no error but that of cancellation.
  Complex (*extended)(const Complex& a, const Complex& b);
  Plain (*plain)(const Plain& a, const Plain& b);
};

template <class F>
Plain PlainOf(const Plain& a, const Plain& b) {
  const F function = scalar::ForBits<F>(64);
  if constexpr (std::is_invocable_v<F, Plain, Plain>)
    return function(a, b);
  else
    return function(a);
}

#define COMPLEX_FUNCTION(name, is_exact, ...)                                                 \
  {                                                                                           \
    Opcode::k##name, is_exact,                                                                \
        []([[maybe_unused]] const Complex& a, [[maybe_unused]] const Complex& b) -> Complex { \
          return __VA_ARGS__;                                                                 \
        },                                                                                    \
        &PlainOf<scalar::name>                                                                \
  }
constexpr ComplexFunction kComplexFunctions[] = {
    COMPLEX_FUNCTION(Abs, true, Modulus(a)),
    COMPLEX_FUNCTION(Acos, false, Acos(a)),
    COMPLEX_FUNCTION(Acosh, false, Acosh(a)),
    COMPLEX_FUNCTION(Add, true, a + b),
    COMPLEX_FUNCTION(Asin, false, Asin(a)),
    COMPLEX_FUNCTION(Asinh, false, Asinh(a)),
    COMPLEX_FUNCTION(Atan2, false, Angle(a, b)),
    COMPLEX_FUNCTION(Atanh, false, Atanh(a)),
    COMPLEX_FUNCTION(Cosh, false, Cosh(a)),
    COMPLEX_FUNCTION(Cosine, false, Cos(a)),
    COMPLEX_FUNCTION(Divide, true, a / b),
    COMPLEX_FUNCTION(Exp2, false, Exp(a* kLn2)),
    COMPLEX_FUNCTION(Exponential, false, Exp(a)),
    COMPLEX_FUNCTION(ExponentialMinusOne, false, Expm1(a)),
    COMPLEX_FUNCTION(Imag, true, a.imag),
    COMPLEX_FUNCTION(Log, false, Log(a)),
    COMPLEX_FUNCTION(Log2, false, Log(a) / kLn2),
    COMPLEX_FUNCTION(LogPlusOne, false, Log1p(a)),
    COMPLEX_FUNCTION(Logistic, false, Logistic(a)),
    COMPLEX_FUNCTION(Multiply, true, a* b),
    COMPLEX_FUNCTION(Negate, true, -a),
    COMPLEX_FUNCTION(Power, false, Pow(a, b)),
    COMPLEX_FUNCTION(Real, true, a.real),
    COMPLEX_FUNCTION(Rsqrt, false, Complex(1.0) / Sqrt(a)),
    COMPLEX_FUNCTION(Sign, false, IsZero(a) ? a : a / Modulus(a)),
    COMPLEX_FUNCTION(Sine, false, Sin(a)),
    COMPLEX_FUNCTION(Sinh, false, Sinh(a)),
    COMPLEX_FUNCTION(Sqrt, false, Sqrt(a)),
    COMPLEX_FUNCTION(Subtract, true, a - b),
    COMPLEX_FUNCTION(Tan, false, Tan(a)),
    COMPLEX_FUNCTION(Tanh, false, Tanh(a)),
};
#undef COMPLEX_FUNCTION

}  // namespace

ComplexDoubleDouble operator/(const ComplexDoubleDouble& a, const ComplexDoubleDouble& b) {
  const int exponent = ExponentOf(b);
  const Complex scaled = Scaled(b, -exponent);
  return Scaled(a * Conjugate(scaled) / SquareOf(scaled), -exponent);
}

std::optional<ComplexDoubleDouble> EvaluateComplex(Opcode opcode, const ComplexDoubleDouble& a,
                                                   const ComplexDoubleDouble& b) {
  if (opcode == Opcode::kComplex) return Complex(a.real, b.real);
  if (opcode == Opcode::kConvert || opcode == Opcode::kCopy) return a;
  const ComplexFunction* const found =
      std::find_if(std::begin(kComplexFunctions), std::end(kComplexFunctions),
                   [&](const ComplexFunction& function) { return function.opcode == opcode; });
  if (found == std::end(kComplexFunctions)) return std::nullopt;
  const Complex value = found->extended(a, b);
  if (found->is_exact && IsFinite(value)) return value;
  const Plain plain = found->plain(a.high(), b.high());
  if (IsFinite(value) && IsNear(value, plain, a, b)) return value;
  return Extended(plain);
}

}  // namespace hlo::debug
