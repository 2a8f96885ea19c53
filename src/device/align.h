#pragma once
// Alignment of device memory: allocations, buffers, parts of a workspace.

#include <cstdint>

#include "base/arithmetic.h"

namespace hlo::device {

inline constexpr int64_t kAlignment = 256;

// Returns `byte_count` rounded up to kAlignment.
constexpr int64_t Aligned(int64_t byte_count) { return RoundUp(byte_count, kAlignment); }

}  // namespace hlo::device
