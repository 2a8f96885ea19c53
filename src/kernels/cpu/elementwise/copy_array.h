#pragma once
// This file copies between strided arrays: transposes, slices, broadcasts and concatenations.

#include <cstdint>

#include "absl/types/span.h"

namespace hlo::cpu {

struct CopyDim {
  int64_t size, from_stride, to_stride;  // Strides are in elements.
};

// Sets to[sum of i * to_stride] = from[sum of i * from_stride] for all indices i. Elements have `width` bytes
// (1, 2, 4, 8 or 16). The arrays do not overlap, or they are identical.
void CopyArray(absl::Span<const CopyDim> dims, int64_t width, const void* from, void* to);

}  // namespace hlo::cpu
