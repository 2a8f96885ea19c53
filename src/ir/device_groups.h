#pragma once
// Lists of devices that are written as an iota or as axes of a mesh (text-format 6.2, 8.9).

#include <cstdint>
#include <vector>

#include "hlo_run/attribute.h"

namespace hlo {

// The devices of an iota list in the order of its dimensions; empty where its sizes do not fit together or
// are too many.
std::vector<int64_t> ExpandIota(IntList reshape_dims, IntList transpose_perm);
// Groups as lists; none where the axes or sizes do not fit together.
std::vector<std::vector<int64_t>> ExpandGroups(const ReplicaGroups& groups);

}  // namespace hlo
