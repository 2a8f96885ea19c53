#pragma once
// Counts the uses of slots.

#include <vector>

#include "plan/plan.h"
#include "plan/visit.h"

namespace hlo::plan {

// Returns the occurrences of each slot in steps, moves and results.
inline std::vector<int> CountUses(const Plan& plan) {
  std::vector<int> uses(plan.buffers.size());
  const auto count = [&](Slot slot) {
    if (slot >= 0) ++uses[slot];
  };
  for (const Slot slot : plan.results) count(slot);
  VisitAllSlots(plan.steps, [&](Slot slot, bool) { count(slot); });
  return uses;
}

}  // namespace hlo::plan
