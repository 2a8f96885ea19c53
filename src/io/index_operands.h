#pragma once
// Which parameters of the entry computation end up as indices, and how large may they be?

#include <cstdint>
#include <limits>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::io {

inline constexpr int64_t kNoIndexLimit = std::numeric_limits<int64_t>::max();

// For each parameter of the entry, and in it for each leaf of its shape: the largest value that stays within
// every dimension that the value indexes (gather, scatter, dynamic-slice, dynamic-update-slice, the branch of
// a conditional), or kNoIndexLimit. Followed are operations that only move values, and calls of computations.
std::vector<std::vector<int64_t>> IndexLimits(const Module& module);

}  // namespace hlo::io
