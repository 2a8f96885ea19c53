#pragma once
// Values that carry a wider copy of themselves and a bound of their error.

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"

namespace hlo::debug {

// The bound of an unknown error.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A value of a module that is evaluated in its declared precision and in a wider one.
struct ShadowValue {
  Literal declared;  // An array or a token; invalid for a tuple.
  // The value of floats in f64, of complex numbers in c128. It is invalid for other types, and for exact
  // floats until it is needed, because it is the declared one.
  Literal wide;
  Literal low;  // The low part of the double-double value of an f64 or c128; invalid if it is 0.
  // f64: the largest distance of the result of a legal evaluation from `wide`, for complex numbers by
  // modulus. For other types it is not 0 if a legal evaluation may give another value. Invalid if it is 0
  // everywhere.
  Literal bound;
  // The values of trials, in which each instruction errs by its own bound with a random sign; empty if they
  // equal `wide`.
  std::vector<Literal> trials;
  // The bound of a result before trials reduced it; invalid if they did not.
  Literal proven_bound;
  // The estimate of the bound of elements that may overflow or are infinite, whose `bound` is therefore
  // infinite: where it is finite, a legal result is either such a special value or within it. Invalid if
  // there is none.
  Literal special_bound;
  // True if the bound depends on that of an instruction that is only estimated, or on a choice that may
  // differ.
  bool is_estimated = false;
  std::vector<ShadowValue> elements;  // The elements of a tuple.
  bool is_tuple = false;

  bool is_float() const;
  bool is_exact() const { return !bound.shape().IsValid(); }
};

inline constexpr size_t kTrialCount = 2;

// Returns a value that is known exactly.
absl::StatusOr<ShadowValue> ExactShadow(const Literal& declared);
// Returns the same value without the wide values that are not stored.
ShadowValue NarrowShadow(const Literal& declared);
// Computes the wide values that are not stored, and frees those that need not be stored.
absl::Status Materialize(ShadowValue& value);
void DropExactWide(ShadowValue& value);
// Returns the wide value of a float, which may be its declared one in the declared type.
const Literal& WideOrDeclared(const ShadowValue& value);
// True if all arrays of a value are exact.
bool IsExact(const ShadowValue& value);
// True if the bound of one of the arrays is an estimate.
bool IsEstimated(const ShadowValue& value);
// True if a legal evaluation may give another value of a scalar that is neither a float nor a complex number.
bool MayDiffer(const ShadowValue& choice);
void MarkEstimated(ShadowValue& value);
// Returns the declared value.
Literal Declared(const ShadowValue& value);
// Returns the arrays in order; tokens are left out.
std::vector<ShadowValue*> ShadowLeaves(ShadowValue& value);

// The precision of a float type.
struct FloatPrecision {
  double epsilon;       // The distance from 1 to the next number.
  double least_normal;  // The smallest normal number.
  double largest;
  bool has_infinity = true;
};
// For complex types, returns the precision of the parts.
FloatPrecision PrecisionOf(ElementType type);
// Returns the distance between representable numbers at a value.
double UlpAt(const FloatPrecision& precision, double value);

// Returns the unit in which reports give errors of a value: a subnormal number and 0 differ by at most 1.
double ReportedUlp(const FloatPrecision& precision, double value);
// Returns the root mean square of the finite values.
double RootMeanSquare(absl::Span<const double> values);

bool IsFloatOrComplex(ElementType type);
// Returns arrays of f64.
absl::StatusOr<Literal> F64Array(absl::Span<const int64_t> dims, double fill = 0);
// Returns the elements of an array as f64 or c128.
absl::StatusOr<Literal> ToWide(const Literal& array);
// Returns the absolute values of an array: f32 and bf16 arrays keep their type, others become f64.
absl::StatusOr<Literal> AbsoluteOf(const Literal& array);
inline absl::Span<const double> Doubles(const Literal& array) { return array.span<double>(); }
inline absl::Span<double> MutableDoubles(Literal& array) { return array.mutable_span<double>(); }
inline bool IsFinite(double x) { return std::isfinite(x); }
inline bool IsFinite(const std::complex<double>& x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}
// Return the bound of a value, which is zero if the value is exact, and the low part of an f64.
absl::StatusOr<Literal> BoundOf(const ShadowValue& value);
absl::StatusOr<Literal> LowOf(const ShadowValue& value);

}  // namespace hlo::debug
