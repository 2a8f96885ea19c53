#pragma once
// This file packs s8 matrices into panels of four terms each, for instructions that multiply four bytes.

#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// Packs terms 4k, ..., 4k + 3 into element (i, k), the first term in the lowest byte. The encoding is the one
// that Terms::kQuads defines for the first operand (kIsFirst) or for the second.
template <int kWidth, bool kIsFirst>
class ByteQuadSource final : public PanelSource<uint32_t, kWidth> {
 public:
  // Term (i, k) is data[i * stride + k * k_stride]. Terms from index k_count on contribute nothing.
  ByteQuadSource(const void* data, int64_t stride, int64_t k_stride, int64_t k_count)
      : data_(static_cast<const uint8_t*>(data)), stride_(stride), k_stride_(k_stride), k_count_(k_count) {}
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, uint32_t* panel) const override;

 private:
  void PackQuad(int64_t first, int64_t count, int64_t k, uint32_t* line) const;

  const uint8_t* data_;
  int64_t stride_, k_stride_, k_count_;
};

}  // namespace hlo::cpu
