#pragma once
// Copies between two arrays that are walked with strides: transposes, slices, broadcasts, rows side by side.

#include <cstdint>

#include "absl/types/span.h"

namespace hlo::cpu {

struct CopyDim {
  int64_t size, from_stride, to_stride;  // Strides in elements.
};

// to[sum of i * to_stride] = from[sum of i * from_stride] for all indices i; elements of `width` bytes (1, 2,
// 4, 8 or 16). The arrays do not overlap, or are the same elements.
void CopyArray(absl::Span<const CopyDim> dims, int64_t width, const void* from, void* to);

}  // namespace hlo::cpu
