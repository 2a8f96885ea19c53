#pragma once
// In-place analysis: which values share a buffer with values that die.

#include <map>
#include <utility>
#include <vector>

#include "plan/change_counter.h"
#include "plan/memory/liveness.h"

namespace hlo::plan {

// Buffers of at most this size are copied, not swapped.
inline constexpr int64_t kMaxCopiedBytes = 64;

struct Aliasing {
  std::vector<std::pair<ValueId, ValueId>> swapped;  // Pairs of swapped buffers.
  std::map<int32_t, ValueId> donations;  // Results that may reuse a donated argument, keyed by its storage.
};

// Merges the storages of values that steps and loops can update in place, and removes the copies that become
// redundant. Without `in_place`, results of steps never alias operands.
Aliasing AliasStorages(Plan& plan, Liveness& liveness, bool in_place, ChangeCounter& changes);

}  // namespace hlo::plan
