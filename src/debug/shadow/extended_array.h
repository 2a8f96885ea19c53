#pragma once
// Arrays of double-doubles.

#include <cmath>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "debug/shadow/double_double.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// Reads f64 elements with their low parts; broadcasts a single element.
class ExtendedView {
 public:
  ExtendedView(const Literal& high, const Literal& low)
      : high_(high.span<double>().data()),
        low_(low.shape().IsValid() ? low.span<double>().data() : nullptr),
        is_scalar_(high.element_count() == 1) {}
  explicit ExtendedView(const ShadowValue& value) : ExtendedView(value.wide, value.low) {}
  DoubleDouble operator[](int64_t i) const {
    const int64_t at = is_scalar_ ? 0 : i;
    return {high_[at], low_ == nullptr ? 0 : low_[at]};
  }

 private:
  const double *high_, *low_;
  bool is_scalar_;
};

// Returns zeros.
inline absl::StatusOr<ExtendedValue> NewValue(absl::Span<const int64_t> dims) {
  ExtendedValue value;
  HLO_ASSIGN_OR_RETURN(value.high, F64Array(dims));
  HLO_ASSIGN_OR_RETURN(value.low, F64Array(dims));
  return value;
}

inline void Store(ExtendedValue& value, int64_t i, const DoubleDouble& x) {
  MutableDoubles(value.high)[i] = x.high;
  MutableDoubles(value.low)[i] = std::isfinite(x.high) ? x.low : 0;
}

}  // namespace hlo::debug
