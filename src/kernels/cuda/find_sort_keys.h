#pragma once
// Which order does a sort's comparator ask for, as keys that kernels know?

#include <optional>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::cuda {

// The elements of one operand. Floats in their total order, -NaN < -inf < ... < -0 < 0 < ... < NaN, where zeros
// or NaNs of both signs may count as one; or in the partial order of <, in which NaN has no place.
struct SortKey {
  int64_t operand = 0;
  bool descending = false;
  bool total = true;       // Of the comparison that orders,
  bool equal_total = true; // and of the one that sends ties to the next key.
  bool zeros_equal = false, nans_equal = false;
};

// Keys compared one after the other, the first that differ decide: `a < b`, or `a < b or (a == b and ...)`.
// nullopt for other comparators, and types whose bits are no order.
std::optional<std::vector<SortKey>> FindSortKeys(const Instruction& sort);

// Whether elements of the type are ordered by their bits, as above.
bool HasSortKey(ElementType type);

}  // namespace hlo::cuda
