#pragma once
// sort by a comparator that compares one key of each side: a function of one operand's elements, ascending or
// descending.

#include <optional>

#include "kernels/cpu/reduce_program.h"
#include "kernels/cpu/sort.h"
#include "plan/library_kernels.h"

namespace hlo::plan {

struct SortKey {
  int64_t operand = 0;
  cpu::TileCode code;  // Element -> key.
  cpu::SortOrder order;
};

// nullopt for other comparators.
std::optional<SortKey> FindSortKey(const Instruction& sort);

// Unimplemented where an element has no place in the order (NaN): the comparator itself must then decide.
absl::Status RunSort(const Instruction& sort, const SortKey& key, absl::Span<const void* const> operands,
                     absl::Span<void* const> results);

}  // namespace hlo::plan
