#pragma once
// Arrays of double-doubles.

#include <cmath>
#include <type_traits>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "debug/shadow/complex_double_double.h"
#include "debug/shadow/double_double.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// Reads f64 or c128 elements with their low parts; broadcasts a single element. T is DoubleDouble or
// ComplexDoubleDouble, which also reads f64 elements.
template <class T>
class ExtendedViewOf {
 public:
  ExtendedViewOf(const Literal& high, const Literal& low)
      : high_(PartsOf(high)),
        low_(low.shape().IsValid() ? PartsOf(low) : nullptr),
        parts_(high.type() == ElementType::kC128 ? 2 : 1),
        is_scalar_(high.element_count() == 1) {}
  explicit ExtendedViewOf(const ShadowValue& value) : ExtendedViewOf(value.wide, value.low) {}
  T operator[](int64_t i) const {
    const int64_t at = is_scalar_ ? 0 : i * parts_;
    if constexpr (std::is_same_v<T, ComplexDoubleDouble>) {
      if (parts_ == 2) return {Part(at), Part(at + 1)};
    }
    return Part(at);
  }

 private:
  static const double* PartsOf(const Literal& array) { return reinterpret_cast<const double*>(array.data()); }
  DoubleDouble Part(int64_t at) const { return {high_[at], low_ == nullptr ? 0 : low_[at]}; }

  const double *high_, *low_;
  int64_t parts_;
  bool is_scalar_;
};
using ExtendedView = ExtendedViewOf<DoubleDouble>;
using ComplexView = ExtendedViewOf<ComplexDoubleDouble>;

// The element type of arrays of T.
template <class T>
constexpr ElementType kExtendedType =
    std::is_same_v<T, ComplexDoubleDouble> ? ElementType::kC128 : ElementType::kF64;

// Returns zeros.
template <class T = DoubleDouble>
absl::StatusOr<ExtendedValue> NewValue(absl::Span<const int64_t> dims) {
  ExtendedValue value;
  HLO_ASSIGN_OR_RETURN(value.high, Literal::CreateZeros(Shape::Array(kExtendedType<T>, dims)));
  HLO_ASSIGN_OR_RETURN(value.low, Literal::CreateZeros(Shape::Array(kExtendedType<T>, dims)));
  return value;
}

// Returns the low part, which is 0 for special values.
inline double LowPart(const DoubleDouble& x) { return std::isfinite(x.high) ? x.low : 0; }

inline void Store(ExtendedValue& value, int64_t i, const DoubleDouble& x) {
  MutableDoubles(value.high)[i] = x.high;
  MutableDoubles(value.low)[i] = LowPart(x);
}
inline void Store(ExtendedValue& value, int64_t i, const ComplexDoubleDouble& x) {
  value.high.mutable_span<std::complex<double>>()[i] = x.high();
  value.low.mutable_span<std::complex<double>>()[i] = {LowPart(x.real), LowPart(x.imag)};
}

}  // namespace hlo::debug
