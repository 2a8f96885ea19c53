#pragma once
// Matrices of bf16 as panels of pairs, for processors that multiply two terms of a sum at once.

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// An operand's matrix in memory; element (i, k) is data[i * stride + k * k_stride].
struct BF16Matrix {
  const bfloat16* data;
  int64_t stride, k_stride;
};

// Element (i, k) of its panels has the bits of term 2k in its lower half, those of 2k + 1 in its upper one.
template <int kWidth>
class BF16PairSource final : public PanelSource<float, kWidth> {
 public:
  // Terms from k_count on are 0.
  BF16PairSource(const BF16Matrix& matrix, int64_t k_count) : matrix_(matrix), k_count_(k_count) {}
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, float* panel) const override;

 private:
  void PackPair(int64_t first, int64_t count, int64_t k, float* line) const;

  BF16Matrix matrix_;
  int64_t k_count_;
};

// Whether no product of two elements, and no sum of such products, can be a denormal number other than 0,
// which the processor would take for 0; false also where that is not known. Both have terms that are
// neighbours, or rows and columns that are.
bool HaveNormalProducts(const BF16Matrix& a, int64_t rows, const BF16Matrix& b, int64_t columns,
                        int64_t k_count);

}  // namespace hlo::cpu
