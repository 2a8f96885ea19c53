#include "kernels/cpu/gemm/byte_quads.h"

#include <algorithm>
#include <cstring>

namespace hlo::cpu {

template <int kWidth, bool kIsFirst>
void ByteQuadSource<kWidth, kIsFirst>::PackQuad(int64_t first, int64_t count, int64_t k,
                                                uint32_t* line) const {
  const int64_t terms = std::min<int64_t>(4, k_count_ - 4 * k);
  uint32_t quads[kWidth] = {};
  for (int64_t t = 0; t < terms; ++t) {
    const uint8_t* from = data_ + first * stride_ + (4 * k + t) * k_stride_;
    for (int64_t i = 0; i < count; ++i) quads[i] |= uint32_t{from[i * stride_]} << (8 * t);
  }
  std::memcpy(line, quads, sizeof quads);
}

template <int kWidth, bool kIsFirst>
void ByteQuadSource<kWidth, kIsFirst>::Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                            uint32_t* panel) const {
  const int64_t whole = std::min(k_count, k_count_ / 4 - k_first);  // Quads with four terms.
  int64_t k = 0;
  if (k_stride_ == 1 && whole > 0) {
    alignas(64) uint32_t quads[kWidth * kPanelDepth];
    const uint32_t* rows[kWidth];
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(quads + i * kPanelDepth, data_ + (first + i) * stride_ + 4 * k_first, 4 * whole);
      rows[i] = quads + i * kPanelDepth;
    }
    PackRows<uint32_t, kWidth>(rows, count, whole, panel);
    k = whole;
  } else if (stride_ == 1 && count == kWidth) {
    for (; k < whole; ++k) {
      const uint8_t* line = data_ + first + 4 * (k_first + k) * k_stride_;
      const uint8_t *second = line + k_stride_, *third = second + k_stride_, *fourth = third + k_stride_;
      uint32_t* to = panel + k * kWidth;
      for (int i = 0; i < kWidth; ++i)
        to[i] = line[i] | uint32_t{second[i]} << 8 | uint32_t{third[i]} << 16 | uint32_t{fourth[i]} << 24;
    }
  }
  for (; k < k_count; ++k) PackQuad(first, count, k_first + k, panel + k * kWidth);
  if constexpr (kIsFirst) {
    for (int64_t i = 0; i < k_count * kWidth; ++i) panel[i] ^= 0x80808080u;
  }
}

template class ByteQuadSource<kPanelRows<uint32_t>, true>;
template class ByteQuadSource<kPanelColumns<uint32_t>, false>;

}  // namespace hlo::cpu
