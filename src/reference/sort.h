#pragma once
// Sorting for custom calls.

#include "reference/op.h"

namespace hlo::reference {

// The first elements of each line along the last dimension as the called computation orders them, and their
// positions.
absl::StatusOr<Literal> TopkByComparator(OpContext& context);

// Each line along the last dimension in the total order, stable; the elements, and the s32 positions that
// they had.
absl::StatusOr<Literal> SortedLines(const Literal& array, bool descending);

}  // namespace hlo::reference
