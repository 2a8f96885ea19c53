#pragma once
// Finds the parameters of the entry computation that are used as indices, and their limits.

#include <cstdint>
#include <limits>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::io {

inline constexpr int64_t kNoIndexLimit = std::numeric_limits<int64_t>::max();

// Returns for each leaf of each entry parameter the largest value that stays within every dimension that it
// indexes (gather, scatter, dynamic-slice, dynamic-update-slice, the branch of a conditional), or
// kNoIndexLimit. The analysis follows data movement and calls.
std::vector<std::vector<int64_t>> IndexLimits(const Module& module);

}  // namespace hlo::io
