#pragma once
// Arrays whose sizes are known at run time: their elements come first in an array of the bounds.

#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo {

// Returns the elements of `dense`, whose sizes are at most those of `bounds`, in an array of that shape.
absl::StatusOr<Literal> WithinBounds(const Literal& dense, const Shape& bounds);

// Returns the sizes that the braces of a literal tell: {{1,2,3},{4,5,6}} has {2,3}.
std::vector<int64_t> SizesOfBraces(std::string_view text, int64_t rank);

}  // namespace hlo
