#pragma once
// Matrices of s8 as panels of four terms each, for processors that multiply four bytes at once.

#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// Element (i, k) of the panels has the bits of terms 4k, ..., 4k + 3, the first in its lowest byte; as Terms
// want them of an operand that is the first one (kIsFirst), or the second.
template <int kWidth, bool kIsFirst>
class ByteQuadSource final : public PanelSource<uint32_t, kWidth> {
 public:
  // Term (i, k) is data[i * stride + k * k_stride]; what comes from k_count on adds nothing.
  ByteQuadSource(const void* data, int64_t stride, int64_t k_stride, int64_t k_count)
      : data_(static_cast<const uint8_t*>(data)), stride_(stride), k_stride_(k_stride), k_count_(k_count) {}
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, uint32_t* panel) const override;

 private:
  void PackQuad(int64_t first, int64_t count, int64_t k, uint32_t* line) const;

  const uint8_t* data_;
  int64_t stride_, k_stride_, k_count_;
};

}  // namespace hlo::cpu
