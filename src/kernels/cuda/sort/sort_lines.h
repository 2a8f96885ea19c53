#pragma once
// Lines along a dimension of an array. Element t of a line is identified by e = line * length + t.

#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

constexpr uint32_t kSortThreads = 256;

// The stride of the dimension is the divisor of `stride_divisor`.
struct SortLines {
  uint32_t count = 0, length = 1;
  FastDiv length_divisor, stride_divisor;
  HLO_DEVICE int64_t stride() const { return stride_divisor.divisor; }
  HLO_DEVICE bool IsDense() const { return stride_divisor.divisor == 1; }
  HLO_DEVICE int64_t Address(uint32_t line, uint32_t t) const {
    const uint32_t outer = stride_divisor.Quotient(line), inner = line - outer * stride_divisor.divisor;
    return (static_cast<int64_t>(outer) * length + t) * stride_divisor.divisor + inner;
  }
  HLO_DEVICE int64_t Address(uint32_t e) const {
    const uint32_t line = length_divisor.Quotient(e);
    return Address(line, e - line * length);
  }
};

}  // namespace hlo::cuda
