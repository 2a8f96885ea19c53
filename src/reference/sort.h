#pragma once
// The custom call that sorts by a computation of its own.

#include "reference/op.h"

namespace hlo::reference {

// The first elements of each line along the last dimension as the called computation orders them, and their
// positions.
absl::StatusOr<Literal> TopkByComparator(OpContext& context);

}  // namespace hlo::reference
