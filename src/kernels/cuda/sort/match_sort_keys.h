#pragma once
// Recognises sort comparators whose keys are ordered by their bits.

#include <optional>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::cuda {

// A key: the elements of one operand. Floats are in total order, -NaN < -inf < ... < -0 < 0 < ... < NaN, in
// which zeros or NaNs of both signs may be equal, or in the partial order of <. There NaN is unordered.
struct SortKey {
  int64_t operand = 0;
  bool descending = false;
  bool total = true;        // The ordering comparison is total.
  bool equal_total = true;  // The comparison for ties is total.
  bool zeros_equal = false, nans_equal = false;
};

// Returns the keys of a lexicographic comparator, most significant first: `a < b`, or `a < b or (a == b and
// ...)`. Returns nullopt for other comparators and for types that are not ordered by their bits.
std::optional<std::vector<SortKey>> MatchSortKeys(const Instruction& sort);

// True if elements of the type can be ordered by their bits, as above.
bool HasSortKey(ElementType type);

}  // namespace hlo::cuda
