#pragma once
// Elementwise epilogues of products and convolutions, in f64.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo::reference::custom {

// True if an array can be broadcast to these sizes. A vector extends along dimension `feature`; otherwise
// dimensions are aligned at the last one and have size 1 or the full size.
bool CanBroadcastTo(const Shape& array, absl::Span<const int64_t> dims, int64_t feature);
// Returns the array in f64, broadcast to these sizes.
absl::StatusOr<Literal> BroadcastTo(const Literal& array, absl::Span<const int64_t> dims, int64_t feature);

// Returns the largest finite number of a type.
double LargestFinite(ElementType type);

// Rounds f64 values to a type; clamps them to its finite range if it has at most 8 bits.
absl::StatusOr<Literal> Saturated(const Literal& wide, const Shape& shape);

}  // namespace hlo::reference::custom
