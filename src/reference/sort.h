#pragma once
// Sorting for custom calls.

#include "reference/op.h"

namespace hlo::reference {

// Returns the first elements of each line along the last dimension in the order of the called computation,
// and their positions.
absl::StatusOr<Literal> TopkByComparator(OpContext& context);

// Sorts each line along the last dimension in total order, stably; returns the elements and their s32
// positions.
absl::StatusOr<Literal> SortedLines(const Literal& array, bool descending);

}  // namespace hlo::reference
