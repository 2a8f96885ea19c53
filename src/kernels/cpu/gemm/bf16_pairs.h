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

// The powers of two, at least 0, by which the operands of a product are multiplied.
struct BF16Scales {
  int a = 0, b = 0;
  bool operator==(const BF16Scales&) const = default;
};

// Instructions for bf16 replace denormals, both terms and sums, by zero. Returns the least scales for which
// that makes no difference: scaled elements are normal numbers; no sum of products is a denormal, or those
// that are contribute less than half the least denormal to an unscaled sum; and scaled sums are finite.
// Scales of 0 are also returned if sums may be infinite. Returns nullopt if there are no such scales, or if
// they are unknown: for matrices without a unit stride, and for infinities beside small numbers.
std::optional<BF16Scales> NormalScales(const BF16Matrix& a, int64_t rows, const BF16Matrix& b,
                                       int64_t columns, int64_t k_count);
// The same for sums of any k_count products of an element of each array.
std::optional<BF16Scales> NormalScales(absl::Span<const bfloat16> a, absl::Span<const bfloat16> b,
                                       int64_t k_count);

}  // namespace hlo::cpu
