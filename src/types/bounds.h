#pragma once
// Pads arrays of run-time sizes to arrays of their bounds.

#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo {

// Returns an array of shape `bounds` that contains the elements of `dense`, which must not be larger.
absl::StatusOr<Literal> PaddedToBounds(const Literal& dense, const Shape& bounds);

// Returns the sizes implied by the braces of a literal: {{1,2,3},{4,5,6}} gives {2,3}.
std::vector<int64_t> SizesOfBraces(std::string_view text, int64_t rank);

}  // namespace hlo
