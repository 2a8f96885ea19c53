#pragma once
// Where pieces of device memory begin: allocations, buffers, parts of a workspace.

#include <cstdint>

namespace hlo::device {

inline constexpr int64_t kAlignment = 256;

// At least `byte_count` bytes, and as many that another piece may follow.
constexpr int64_t Aligned(int64_t byte_count) {
  return (byte_count + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace hlo::device
