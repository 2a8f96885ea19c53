#pragma once
// Which order does a sort's comparator ask for?

#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/sort/sort.h"

namespace hlo::plan {

// A function of one operand's elements, ascending or descending.
struct SortKey {
  int64_t operand = 0;
  cpu::TileCode code;  // Element -> key.
  cpu::SortOrder order;
};

// Keys compared one after the other, the first that differ decide: `a < b`, or `a < b or (a == b and ...)`.
// nullopt for other comparators.
std::optional<std::vector<SortKey>> FindSortKeys(const Instruction& sort);

}  // namespace hlo::plan
