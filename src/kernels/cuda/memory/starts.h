#pragma once
// Start indices of the windows of gather and scatter, and iteration over dimensions that have a stride in
// each of several arrays.

#include <cstdint>

#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

constexpr int kMaxDims = 8;

// A dimension and its strides in the three index spaces.
struct WalkDim {
  FastDiv size;
  int64_t index = 0, operand = 0, update = 0;
};
struct WalkOffsets {
  int64_t index = 0, operand = 0, update = 0;
};
// Row-major iteration over `rank` dimensions; the last one varies fastest.
struct Walk {
  uint32_t rank = 0;
  WalkDim dims[kMaxDims];
  HLO_DEVICE WalkOffsets At(uint32_t i) const {
    WalkOffsets offsets;
    for (int d = static_cast<int>(rank) - 1; d >= 0; --d) {
      const WalkDim& dim = dims[d];
      const uint32_t rest = dim.size.Quotient(i);
      const int64_t digit = i - rest * dim.size.divisor;
      i = rest;
      offsets.index += digit * dim.index;
      offsets.operand += digit * dim.operand;
      offsets.update += digit * dim.update;
    }
    return offsets;
  }
};

// Reads element i of an integer array; saturates to int64_t.
HLO_DEVICE int64_t ReadIndex(const void* indices, uint32_t byte_count, bool is_signed, int64_t i) {
  switch (byte_count) {
    case 1:
      return is_signed ? int64_t{static_cast<const int8_t*>(indices)[i]}
                       : int64_t{static_cast<const uint8_t*>(indices)[i]};
    case 2:
      return is_signed ? int64_t{static_cast<const int16_t*>(indices)[i]}
                       : int64_t{static_cast<const uint16_t*>(indices)[i]};
    case 4:
      return is_signed ? int64_t{static_cast<const int32_t*>(indices)[i]}
                       : int64_t{static_cast<const uint32_t*>(indices)[i]};
    default: {
      const int64_t index = static_cast<const int64_t*>(indices)[i];
      return is_signed || index >= 0 ? index : INT64_MAX;
    }
  }
}

// Index vectors with element stride `vector_stride`.
struct StartsArgs {
  struct Entry {
    int64_t last = 0, stride = 0;  // Largest start and stride in the operand.
  };
  const void* indices = nullptr;
  uint32_t byte_count = 4, count = 0;
  bool is_signed = true, clamps = true;
  int64_t vector_stride = 1;
  Entry entries[kMaxDims];

  // Returns the start offset in the operand, or -1 if the window is out of bounds.
  HLO_DEVICE int64_t Start(int64_t first) const {
    int64_t start = 0;
    for (uint32_t k = 0; k < count; ++k) {
      const int64_t index = ReadIndex(indices, byte_count, is_signed, first + k * vector_stride),
                    last = entries[k].last;
      const int64_t inside = index < 0 ? 0 : index > last ? last : index;
      if (inside != index && !clamps) return -1;
      start += inside * entries[k].stride;
    }
    return start;
  }
};

}  // namespace hlo::cuda
