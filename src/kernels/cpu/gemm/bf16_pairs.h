#pragma once
// This file packs bf16 matrices into panels of pairs, for instructions that multiply two terms at once.

#include <optional>

#include "absl/types/span.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// An operand in memory; element (i, k) is data[i * stride + k * k_stride].
struct BF16Matrix {
  const bfloat16* data;
  int64_t stride, k_stride;
};

// Packs two terms into each element: term 2k in the lower half, term 2k + 1 in the upper half.
template <int kWidth>
class BF16PairSource final : public PanelSource<float, kWidth> {
 public:
  // Terms from index k_count on are 0.
  BF16PairSource(const BF16Matrix& matrix, int64_t k_count) : matrix_(matrix), k_count_(k_count) {}
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, float* panel) const override;

 private:
  void PackPair(int64_t first, int64_t count, int64_t k, float* line) const;

  BF16Matrix matrix_;
  int64_t k_count_;
};

// Returns the least scale >= 0 such that sums of products of elements of 2^scale * a and b are finite, and
// none of them is a nonzero denormal, which the processor would flush to zero. A scale of 0 is also returned
// if sums may be infinite. Returns nullopt if there is no such scale, or if it is unknown: for denormals, for
// matrices without a unit stride, and for infinities beside small numbers.
std::optional<int> NormalScale(const BF16Matrix& a, int64_t rows, const BF16Matrix& b, int64_t columns,
                               int64_t k_count);
// The same for sums of any k_count products of an element of each array.
std::optional<int> NormalScale(absl::Span<const bfloat16> a, absl::Span<const bfloat16> b, int64_t k_count);

}  // namespace hlo::cpu
