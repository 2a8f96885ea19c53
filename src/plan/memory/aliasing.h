#pragma once
// Which values lie where others did?

#include <map>
#include <utility>
#include <vector>

#include "plan/memory/liveness.h"

namespace hlo::plan {

// Buffers of so many bytes at most are copied rather than change places.
inline constexpr int64_t kSmall = 64;

struct Sharing {
  std::vector<std::pair<ValueId, ValueId>> exchanged;  // Whose buffers change places.
  std::map<int32_t, ValueId> takers;  // Results by the storage of the argument whose place they may take.
};

// Joins the storages of what steps and loops can update in place, and takes out the copies that this makes
// needless.
// Without `in_place`, results of steps take no operand's memory.
Sharing ShareStorages(Plan& plan, Liveness& liveness, bool in_place);

}  // namespace hlo::plan
