#include "kernels/cpu/gemm/bf16_pairs.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>

#include "base/arithmetic.h"
#include "base/parallel.h"

namespace hlo::cpu {
namespace {

constexpr int kExponentBias = 127, kMantissaBits = 7;

// The biased exponents of the smallest and the largest nonzero element: 255 and 0 if all elements are zero.
// `smallest` is 0 if there are denormals, `largest` 255 if there are infinities or NaN.
struct ExponentRange {
  int smallest, largest;
};

// The smallest magnitude of nonzero elements less one, and the largest magnitude, as bits.
struct MagnitudeRange {
  uint16_t smallest = 0xffff, largest = 0;
};

MagnitudeRange RangeOf(const bfloat16* from, int64_t n) {
  MagnitudeRange range;
  for (int64_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<uint16_t>(from[i].bits & 0x7fff);
    range.smallest = std::min(range.smallest, static_cast<uint16_t>(magnitude - 1));
    range.largest = std::max(range.largest, magnitude);
  }
  return range;
}

// Lowers or raises the value to another one.
template <class Before>
void Replace(std::atomic<uint16_t>& value, uint16_t other, Before&& before) {
  uint16_t now = value;
  while (before(other, now) && !value.compare_exchange_weak(now, other)) {
  }
}

// The range of a matrix with unit stride; other matrices have a `smallest` of 0.
ExponentRange ExponentsOf(const BF16Matrix& matrix, int64_t count, int64_t k_count) {
  const bool by_rows = matrix.k_stride == 1;
  if (!by_rows && matrix.stride != 1) return {0, 255};
  const int64_t lines = by_rows ? count : k_count, length = by_rows ? k_count : count;
  const int64_t step = by_rows ? matrix.stride : matrix.k_stride;
  std::atomic<uint16_t> smallest = 0xffff, largest = 0;
  const int64_t at_once = std::max<int64_t>(1, 32768 / std::max<int64_t>(length, 1));
  ParallelFor(CeilDiv(lines, at_once), 0.02 * static_cast<double>(lines * length), [&](int64_t chunk) {
    MagnitudeRange found;
    const int64_t end = std::min(lines, (chunk + 1) * at_once);
    for (int64_t line = chunk * at_once; line < end; ++line) {
      const MagnitudeRange range = RangeOf(matrix.data + line * step, length);
      found.smallest = std::min(found.smallest, range.smallest);
      found.largest = std::max(found.largest, range.largest);
    }
    Replace(smallest, found.smallest, std::less<>());
    Replace(largest, found.largest, std::greater<>());
  });
  return {smallest == 0xffff ? 255 : (smallest + 1) >> kMantissaBits, largest >> kMantissaBits};
}

ExponentRange ExponentsOf(absl::Span<const bfloat16> all) {
  constexpr int64_t kLine = 32768;
  const int64_t lines = static_cast<int64_t>(all.size()) / kLine,
                rest = static_cast<int64_t>(all.size()) % kLine;
  const ExponentRange first = ExponentsOf({all.data(), kLine, 1}, lines, kLine),
                      last = ExponentsOf({all.data() + lines * kLine, kLine, 1}, 1, rest);
  return {std::min(first.smallest, last.smallest), std::max(first.largest, last.largest)};
}

// Returns the scale that makes denormals normal.
int DenormalScale(ExponentRange range) { return range.smallest == 0 ? kMantissaBits : 0; }

std::optional<BF16Scales> ScalesOf(ExponentRange a, ExponentRange b, int64_t k_count) {
  constexpr int kInfinite = 255, kSmallestNormal = -126, kLeastDenormal = -149;
  const auto count_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(k_count)));
  // Every sum is a multiple of the last bit of the smallest product.
  const int least = std::max(a.smallest, 1) + std::max(b.smallest, 1) - 2 * (kExponentBias + kMantissaBits);
  // Each of the k_count sums may lose a number below kSmallestNormal.
  const int enough = kSmallestNormal - kLeastDenormal + 1 + count_bits;
  const int scale = std::clamp(kSmallestNormal - least, 0, enough);
  BF16Scales scales = {.b = DenormalScale(b)};
  scales.a = std::max(scale - scales.b, DenormalScale(a));
  if (scales == BF16Scales()) return scales;
  const int most = a.largest + 1 + b.largest + 1 - 2 * kExponentBias + scales.a + scales.b + count_bits;
  if (a.largest + scales.a >= kInfinite || b.largest + scales.b >= kInfinite || most > kExponentBias)
    return std::nullopt;
  return scales;
}

}  // namespace

std::optional<BF16Scales> NormalScales(const BF16Matrix& a, int64_t rows, const BF16Matrix& b,
                                       int64_t columns, int64_t k_count) {
  return ScalesOf(ExponentsOf(a, rows, k_count), ExponentsOf(b, columns, k_count), k_count);
}

std::optional<BF16Scales> NormalScales(absl::Span<const bfloat16> a, absl::Span<const bfloat16> b,
                                       int64_t k_count) {
  return ScalesOf(ExponentsOf(a), ExponentsOf(b), k_count);
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
