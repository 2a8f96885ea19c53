#pragma once
// Alignment of device memory: allocations, buffers, parts of a workspace.

#include <cstdint>

namespace hlo::device {

inline constexpr int64_t kAlignment = 256;

// Returns `byte_count` rounded up to kAlignment.
constexpr int64_t Aligned(int64_t byte_count) {
  return (byte_count + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace hlo::device
