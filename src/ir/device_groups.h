#pragma once
// Expands device lists that are written as an iota or as mesh axes (text-format 6.2, 8.9).

#include <cstdint>
#include <vector>

#include "hlo_run/attribute.h"

namespace hlo {

// Returns the devices of an iota list in the order of its dimensions; none if its sizes are inconsistent or
// too large.
std::vector<int64_t> ExpandIota(IntList reshape_dims, IntList transpose_perm);
// Returns the groups as lists; none if axes or sizes are inconsistent.
std::vector<std::vector<int64_t>> ExpandGroups(const ReplicaGroups& groups);

}  // namespace hlo
