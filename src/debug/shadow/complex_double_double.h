#pragma once
// Complex numbers of double-doubles.

#include <cmath>
#include <complex>
#include <optional>

#include "debug/shadow/double_double.h"
#include "hlo_run/opcode.h"

namespace hlo::debug {

struct ComplexDoubleDouble {
  DoubleDouble real, imag;

  ComplexDoubleDouble() = default;
  ComplexDoubleDouble(const DoubleDouble& real) : real(real) {}  // NOLINT: converts implicitly.
  ComplexDoubleDouble(const DoubleDouble& real, const DoubleDouble& imag) : real(real), imag(imag) {}
  std::complex<double> high() const { return {real.high, imag.high}; }
};

inline ComplexDoubleDouble operator-(const ComplexDoubleDouble& a) { return {-a.real, -a.imag}; }
inline ComplexDoubleDouble operator+(const ComplexDoubleDouble& a, const ComplexDoubleDouble& b) {
  return {a.real + b.real, a.imag + b.imag};
}
inline ComplexDoubleDouble operator-(const ComplexDoubleDouble& a, const ComplexDoubleDouble& b) {
  return {a.real - b.real, a.imag - b.imag};
}
inline ComplexDoubleDouble operator*(const ComplexDoubleDouble& a, const ComplexDoubleDouble& b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
inline ComplexDoubleDouble operator*(const ComplexDoubleDouble& a, const DoubleDouble& b) {
  return {a.real * b, a.imag * b};
}
inline ComplexDoubleDouble operator/(const ComplexDoubleDouble& a, const DoubleDouble& b) {
  return {a.real / b, a.imag / b};
}
ComplexDoubleDouble operator/(const ComplexDoubleDouble& a, const ComplexDoubleDouble& b);

// For code on real and complex numbers.
inline DoubleDouble Conjugate(const DoubleDouble& a) { return a; }
inline ComplexDoubleDouble Conjugate(const ComplexDoubleDouble& a) { return {a.real, -a.imag}; }
inline DoubleDouble RealPart(const DoubleDouble& a) { return a; }
inline DoubleDouble RealPart(const ComplexDoubleDouble& a) { return a.real; }
inline bool IsFinite(const DoubleDouble& a) { return std::isfinite(a.high); }
inline bool IsFinite(const ComplexDoubleDouble& a) { return IsFinite(a.real) && IsFinite(a.imag); }
inline bool IsZero(const DoubleDouble& a) { return a.high == 0; }
inline bool IsZero(const ComplexDoubleDouble& a) { return IsZero(a.real) && IsZero(a.imag); }

// Returns the value of an elementwise opcode on up to two complex numbers, or nullopt if it has no form in
// double-double. A real result has no imaginary part. A result that is not finite in f64 is that of f64.
std::optional<ComplexDoubleDouble> EvaluateComplex(Opcode opcode, const ComplexDoubleDouble& a,
                                                   const ComplexDoubleDouble& b);

}  // namespace hlo::debug
