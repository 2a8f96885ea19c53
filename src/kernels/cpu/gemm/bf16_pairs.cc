#include "kernels/cpu/gemm/bf16_pairs.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"

namespace hlo::cpu {
namespace {

constexpr int kExponentBias = 127, kMantissaBits = 7;

// Returns the smallest nonzero magnitude of n contiguous elements minus one, or 0xffff if all are zero.
uint16_t SmallestLessOne(const bfloat16* from, int64_t n) {
  uint16_t smallest = 0xffff;
  for (int64_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<uint16_t>(from[i].bits & 0x7fff);
    smallest = std::min(smallest, static_cast<uint16_t>(magnitude - 1));
  }
  return smallest;
}

// Returns the biased exponent of the smallest nonzero element of the matrix: 0 for denormals and for matrices
// without unit stride, 255 if all elements are zero.
int SmallestExponent(const BF16Matrix& matrix, int64_t count, int64_t k_count) {
  const bool by_rows = matrix.k_stride == 1;
  if (!by_rows && matrix.stride != 1) return 0;
  const int64_t lines = by_rows ? count : k_count, length = by_rows ? k_count : count;
  const int64_t step = by_rows ? matrix.stride : matrix.k_stride;
  std::atomic<uint16_t> smallest = 0xffff;
  const int64_t at_once = std::max<int64_t>(1, 32768 / std::max<int64_t>(length, 1));
  ParallelFor(CeilDiv(lines, at_once), 0.02 * static_cast<double>(lines * length), [&](int64_t chunk) {
    uint16_t found = 0xffff;
    const int64_t end = std::min(lines, (chunk + 1) * at_once);
    for (int64_t line = chunk * at_once; line < end; ++line)
      found = std::min(found, SmallestLessOne(matrix.data + line * step, length));
    uint16_t before = smallest;
    while (found < before && !smallest.compare_exchange_weak(before, found)) {
    }
  });
  return smallest == 0xffff ? 255 : (smallest + 1) >> kMantissaBits;
}

int SmallestExponent(absl::Span<const bfloat16> all) {
  constexpr int64_t kLine = 32768;
  const int64_t lines = static_cast<int64_t>(all.size()) / kLine,
                rest = static_cast<int64_t>(all.size()) % kLine;
  return std::min(SmallestExponent({all.data(), kLine, 1}, lines, kLine),
                  SmallestExponent({all.data() + lines * kLine, kLine, 1}, 1, rest));
}

// Returns true if no sum of products of numbers with these smallest exponents is a nonzero denormal.
bool HaveNormalProducts(int left, int right) {
  if (left == 0 || right == 0) return false;
  // Every sum is a multiple of the last bit of the smallest product.
  constexpr int kSmallestNormal = -126;
  return left + right - 2 * kExponentBias - 2 * kMantissaBits >= kSmallestNormal;
}

}  // namespace

bool HaveNormalProducts(const BF16Matrix& a, int64_t rows, const BF16Matrix& b, int64_t columns,
                        int64_t k_count) {
  const int left = SmallestExponent(a, rows, k_count);
  return left != 0 && HaveNormalProducts(left, SmallestExponent(b, columns, k_count));
}

bool HaveNormalProducts(absl::Span<const bfloat16> a, absl::Span<const bfloat16> b) {
  const int left = SmallestExponent(a);
  return left != 0 && HaveNormalProducts(left, SmallestExponent(b));
}

template <int kWidth>
void BF16PairSource<kWidth>::PackPair(int64_t first, int64_t count, int64_t k, float* line) const {
  const bool is_pair = 2 * k + 1 < k_count_;
  const bfloat16* from = matrix_.data + first * matrix_.stride + 2 * k * matrix_.k_stride;
  uint32_t pairs[kWidth] = {};
  for (int64_t i = 0; i < count; ++i, from += matrix_.stride)
    pairs[i] = from[0].bits | (is_pair ? uint32_t{from[matrix_.k_stride].bits} << 16 : 0u);
  std::memcpy(line, pairs, sizeof pairs);
}

template <int kWidth>
void BF16PairSource<kWidth>::Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                  float* panel) const {
  const int64_t whole = std::min(k_count, k_count_ / 2 - k_first);  // Pairs with two terms.
  int64_t k = 0;
  if (matrix_.k_stride == 1) {
    alignas(64) float pairs[kWidth * kPanelDepth];
    const float* rows[kWidth];
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(pairs + i * kPanelDepth, matrix_.data + (first + i) * matrix_.stride + 2 * k_first,
                  whole * sizeof(float));
      rows[i] = pairs + i * kPanelDepth;
    }
    PackRows<float, kWidth>(rows, count, whole, panel);
    k = whole;
  } else if (matrix_.stride == 1 && count == kWidth && kWidth % kLanes<uint32_t> == 0) {
    for (; k < whole; ++k) {
      const bfloat16* lower = matrix_.data + first + 2 * (k_first + k) * matrix_.k_stride;
      const bfloat16* upper = lower + matrix_.k_stride;
      for (int i = 0; i < kWidth; i += kLanes<uint32_t>) {
        const Vector<uint32_t> pairs = LoadHalves(lower + i) | LoadHalves(upper + i) << 16;
        std::memcpy(panel + k * kWidth + i, &pairs, sizeof pairs);
      }
    }
  }
  for (; k < k_count; ++k) PackPair(first, count, k_first + k, panel + k * kWidth);
}

template class BF16PairSource<kPanelRows<float>>;
template class BF16PairSource<kPanelColumns<float>>;

}  // namespace hlo::cpu
