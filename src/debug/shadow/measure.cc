#include "debug/shadow/measure.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace hlo::debug {
namespace {

// Reads an array; an invalid one is 0 everywhere.
template <class W>
class OptionalArray {
 public:
  explicit OptionalArray(const Literal& array)
      : data_(array.shape().IsValid() ? array.span<W>().data() : nullptr) {}
  W operator[](int64_t i) const { return data_ == nullptr ? W(0) : data_[i]; }

 private:
  const W* data_;
};

template <class W>
double ScaleOf(const Literal& wide) {
  if constexpr (std::is_same_v<W, double>) {
    return RootMeanSquare(wide.span<double>());
  } else {
    std::vector<double> sizes;
    for (const W& x : wide.span<W>()) sizes.push_back(std::abs(x));
    return RootMeanSquare(sizes);
  }
}

template <class W>
ArrayError Measure(const ShadowValue& leaf, const Literal& declared, const ExtendedValue& local) {
  const FloatPrecision precision = PrecisionOf(leaf.declared.type());
  const OptionalArray<W> wides(leaf.wide), values(declared), owns(local.high), lows(leaf.low),
      own_lows(local.low);
  const OptionalArray<double> bounds(leaf.bound);
  ArrayError error;
  std::optional<double> scale;  // The root mean square of the wide values.
  for (int64_t i = 0; i < declared.element_count(); ++i) {
    const W wide = wides[i], value = values[i], own = owns[i], low = lows[i], own_low = own_lows[i];
    const double bound = bounds[i];
    if (value == wide && own == wide && low == own_low && low == W(0) && bound == 0) continue;
    if (!IsFinite(wide) || !IsFinite(value) || !IsFinite(own)) continue;
    // If no digit of an element is known, errors are relative to the other elements.
    double magnitude = std::max(std::abs(wide), std::abs(value));
    if (bound >= magnitude) {
      if (!scale) scale = ScaleOf<W>(leaf.wide);
      magnitude = std::max(magnitude, *scale);
    }
    const double ulp = ReportedUlp(precision, magnitude);
    error.inherited = std::max(error.inherited, std::abs((own - wide) + (own_low - low)) / ulp);
    error.added = std::max(error.added, std::abs((value - own) - own_low) / ulp);
    error.bound = std::max(error.bound, bound / ulp);
    const double total = std::abs((value - wide) - low) / ulp;
    if (total <= error.total) continue;
    error.total = total;
    error.bound_there = bound / ulp;
    error.worst = i;
  }
  return error;
}

}  // namespace

absl::StatusOr<ArrayError> MeasureArray(const ShadowValue& leaf, const ExtendedValue& local) {
  HLO_ASSIGN_OR_RETURN(const Literal declared, ToWide(leaf.declared));
  return leaf.wide.type() == ElementType::kC128 ? Measure<std::complex<double>>(leaf, declared, local)
                                                : Measure<double>(leaf, declared, local);
}

}  // namespace hlo::debug
