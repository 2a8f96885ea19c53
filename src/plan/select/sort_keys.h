#pragma once
// Compiles sort comparators that order by keys.

#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/sort/sort.h"

namespace hlo::plan {

// A key: a function of the elements of one operand, ascending or descending.
struct SortKey {
  int64_t operand = 0;
  cpu::TileCode code;  // Maps an element to its key.
  cpu::SortOrder order;
};

// Returns lexicographic keys: `a < b`, or `a < b or (a == b and ...)`. Returns nullopt for other comparators.
std::optional<std::vector<SortKey>> FindSortKeys(const Instruction& sort);

}  // namespace hlo::plan
