#pragma once
// What libraries do to each element of a product or convolution on its way out, in f64.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo::reference::custom {

// Whether an array is repeated to give one of these sizes: a vector lies along dimension `feature`, other
// dimensions count from the last, and each is 1 or whole.
bool Stretches(const Shape& array, absl::Span<const int64_t> dims, int64_t feature);
// The array, widened and repeated.
absl::StatusOr<Literal> Stretched(const Literal& array, absl::Span<const int64_t> dims, int64_t feature);

// The largest finite number of a type.
double LargestFinite(ElementType type);

// Values of f64 in a type, clamped to its finite range where it has 8 bits or fewer.
absl::StatusOr<Literal> Saturated(const Literal& wide, const Shape& shape);

}  // namespace hlo::reference::custom
