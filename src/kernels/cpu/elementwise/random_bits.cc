#include "kernels/cpu/elementwise/random_bits.h"

#include <algorithm>
#include <array>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/memory/odometer.h"
#include "kernels/cpu/simd/simd.h"
#include "types/counter_random.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kBlocksAtOnce = 1024;

// The blocks of the counters from `counter` on, padded to full vectors.
struct ThreeFryBlocks {
  std::array<uint32_t, kBlocksAtOnce> first, second;
  ThreeFryBlocks(uint64_t key, uint64_t counter, int64_t n) {
    constexpr int64_t kWidth = kLanes<uint32_t>;
    static_assert(kBlocksAtOnce % kWidth == 0);
    for (int64_t i = 0; i < n; i += kWidth) {
      for (int64_t k = 0; k < kWidth; ++k) {
        first[i + k] = LowWord(counter + static_cast<uint64_t>(i + k));
        second[i + k] = HighWord(counter + static_cast<uint64_t>(i + k));
      }
      // Each lane holds a block.
      const auto words = ThreeFry<Vector<uint32_t>>(key, {LoadVector(&first[i]), LoadVector(&second[i])});
      StoreVector(&first[i], words.low);
      StoreVector(&second[i], words.high);
    }
  }
};

// Stores elements of T; types narrower than a byte keep only their bits.
template <class T>
class Elements {
 public:
  Elements(ElementType type, void* data)
      : data_(static_cast<T*>(data)),
        shift_(BitWidth(type) < 8 ? static_cast<int>(8 - BitWidth(type)) : 0),
        is_signed_(IsSigned(type)) {}
  void Set(int64_t i, uint64_t bits) const {
    const auto value = static_cast<T>(bits);
    if (shift_ == 0)
      data_[i] = value;
    else if (is_signed_)
      data_[i] = static_cast<T>(static_cast<int8_t>(static_cast<uint8_t>(value << shift_)) >> shift_);
    else
      data_[i] = static_cast<T>(static_cast<uint8_t>(value << shift_) >> shift_);
  }

 private:
  T* data_;
  int shift_;
  bool is_signed_;
};

// Calls f(elements) with the unsigned type of the same width.
template <class F>
void WithElements(ElementType type, void* data, F&& f) {
  switch (ByteCount(type)) {
    case 1:
      return f(Elements<uint8_t>(type, data));
    case 2:
      return f(Elements<uint16_t>(type, data));
    case 4:
      return f(Elements<uint32_t>(type, data));
    default:
      return f(Elements<uint64_t>(type, data));
  }
}

// Calls body(begin, n) for chunks [begin, begin + n) of `count` blocks.
template <class Body>
void EachChunk(int64_t count, Body&& body) {
  ParallelFor(CeilDiv(count, kBlocksAtOnce), 5.0 * static_cast<double>(count), [&](int64_t c) {
    body(c * kBlocksAtOnce, std::min(kBlocksAtOnce, count - c * kBlocksAtOnce));
  });
}

// Returns the dimension along which the two words of a block are adjacent: the first of even size, otherwise
// the first of the largest size.
int64_t SplitDimension(absl::Span<const int64_t> dims) {
  const auto even = std::find_if(dims.begin(), dims.end(), [](int64_t size) { return size % 2 == 0; });
  if (even != dims.end()) return even - dims.begin();
  return std::max_element(dims.begin(), dims.end()) - dims.begin();
}

}  // namespace

void ThreeFryBits(ElementType type, absl::Span<const int64_t> dims, void* bits, uint64_t* state) {
  const uint64_t key = state[0], counter = state[1];
  if (BitWidth(type) == 64) {
    const Elements<uint64_t> elements(type, bits);
    const int64_t count = Product(dims);
    EachChunk(count, [&](int64_t begin, int64_t n) {
      const ThreeFryBlocks blocks(key, counter + static_cast<uint64_t>(begin), n);
      for (int64_t i = 0; i < n; ++i) elements.Set(begin + i, JoinWords(blocks.first[i], blocks.second[i]));
    });
    state[1] += static_cast<uint64_t>(count);
    return;
  }
  // A scalar is treated as an array of one element.
  const Index sizes = dims.empty() ? Index({1}) : Index(dims);
  const int64_t split = SplitDimension(sizes);
  Index half = sizes, strides = RowMajorStrides(sizes), digit = Zeros(sizes.rank());
  const int64_t step = strides[split];
  half[split] = (half[split] + 1) / 2;
  strides[split] *= 2;
  digit[split] = 2;
  const int64_t count = Product(half);
  WithElements(type, bits, [&](const auto& elements) {
    EachChunk(count, [&](int64_t begin, int64_t n) {
      const ThreeFryBlocks blocks(key, counter + static_cast<uint64_t>(begin), n);
      std::array<int64_t, kBlocksAtOnce> offset, along;
      StridedOffsets(half, strides, begin, n, offset.data());
      StridedOffsets(half, digit, begin, n, along.data());
      for (int64_t i = 0; i < n; ++i) {
        elements.Set(offset[i], blocks.first[i]);
        if (along[i] + 1 < sizes[split]) elements.Set(offset[i] + step, blocks.second[i]);
      }
    });
  });
  state[1] += static_cast<uint64_t>(count);
}

void PhiloxBits(ElementType type, int64_t count, void* bits, absl::Span<uint64_t> state) {
  const uint64_t key = state[0], low = state[1], high = state.size() == 2 ? state[0] : state[2];
  const bool in_pairs = BitWidth(type) == 64;
  const int64_t step = in_pairs ? 2 : 4, blocks = CeilDiv(count, step);
  WithElements(type, bits, [&](const auto& elements) {
    EachChunk(blocks, [&](int64_t begin, int64_t n) {
      for (int64_t i = begin; i < begin + n; ++i) {
        const uint64_t l = low + static_cast<uint64_t>(i), h = high + (l < low ? 1 : 0);
        const FourWords words = Philox(l, h, key);
        const int64_t length = std::min(step, count - i * step);
        for (int64_t k = 0; k < length; ++k) {
          elements.Set(i * step + k,
                       in_pairs ? JoinWords(words.word[2 * k], words.word[2 * k + 1]) : words.word[k]);
        }
      }
    });
  });
  state[1] = low + static_cast<uint64_t>(blocks);
  if (state.size() == 3 && state[1] < low) ++state[2];
}

}  // namespace hlo::cpu
