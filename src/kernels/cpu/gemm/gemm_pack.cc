// This file packs operands of matrix products into panels.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// A sequence of elements along the last dimension.
struct Run {
  int64_t offset, count;
};

// Returns the run that begins at linear index `place` of an array with these dimensions, at most `most` long.
Run RunFrom(int64_t place, int64_t most, const Index& sizes, const Index& strides) {
  Run run{0, 1};
  for (int64_t d = sizes.rank() - 1; d >= 0; --d) {
    const int64_t i = place % sizes[d];
    place /= sizes[d];
    run.offset += i * strides[d];
    if (d == sizes.rank() - 1) run.count = std::min(most, sizes[d] - i);
  }
  return run;
}

// Loads and transposes elements k, ..., k + n - 1 of rows first, ..., first + kLanes - 1; others are 0.
template <class T>
[[gnu::always_inline]] inline void LoadSquare(const T* const* rows, int64_t first, int64_t count, int64_t k,
                                              int n, Vector<T>* square) {
  constexpr int kLane = kLanes<T>;
#pragma GCC unroll 16
  for (int i = 0; i < kLane; ++i) {
    const int64_t row = first + i;
    square[i] = row >= count ? Vector<T>{}
                : n == kLane ? LoadVector(rows[row] + k)
                             : LoadFirst(rows[row] + k, n);
  }
  Transpose<T>(square);
}

// Packs blocks of kLanes x kLanes elements. Writes beyond the panel's width are overwritten by the next line.
template <class T, int kWidth, bool kIsWhole>
[[gnu::always_inline]] inline void PackSquares(const T* const* rows, int64_t count, int64_t k, int n,
                                               bool is_last, T* panel) {
  constexpr int kLane = kLanes<T>;
  constexpr int kSquares = CeilDiv(kWidth, kLane), kAtOnce = kWidth % kLane == 0 ? 1 : kSquares;
#pragma GCC unroll 4
  for (int first = 0; first < kSquares; first += kAtOnce) {
    Vector<T> squares[kAtOnce][kLane];
#pragma GCC unroll 4
    for (int s = 0; s < kAtOnce; ++s)
      LoadSquare(rows, (first + s) * kLane, count, k, kIsWhole ? kLane : n, squares[s]);
#pragma GCC unroll 16
    for (int i = 0; i < kLane; ++i) {
      if (!kIsWhole && i >= n) break;
#pragma GCC unroll 4
      for (int s = 0; s < kAtOnce; ++s) {
        T* to = panel + (k + i) * kWidth + (first + s) * kLane;
        const int left = kWidth - (first + s) * kLane;
        if (left < kLane && is_last && i + 1 == n)
          StoreFirst(to, squares[s][i], left);
        else
          StoreVector(to, squares[s][i]);
      }
    }
  }
}

}  // namespace

template <class T, int kWidth>
[[gnu::noinline]] void PackRows(const T* const* rows, int64_t count, int64_t k_count, T* panel) {
  if constexpr (kComplex<T>) {
    for (int64_t k = 0; k < k_count; ++k) {
      for (int i = 0; i < kWidth; ++i) panel[k * kWidth + i] = i < count ? rows[i][k] : T{};
    }
  } else {
    constexpr int kLane = kLanes<T>;
    int64_t k = 0;
    for (; k + kLane <= k_count; k += kLane)
      PackSquares<T, kWidth, true>(rows, count, k, kLane, k + kLane == k_count, panel);
    if (k < k_count)
      PackSquares<T, kWidth, false>(rows, count, k, static_cast<int>(k_count - k), true, panel);
  }
}

template <class T, int kWidth>
StridedSource<T, kWidth>::StridedSource(const void* data, ElementType type, int64_t stride, int64_t k_stride)
    : data_(static_cast<const std::byte*>(data)),
      width_(ByteCount(type)),
      stride_(stride),
      k_stride_(k_stride),
      widen_(WidenBlockOf<T>(type)) {
  is_native_ = IsStoredAs<T>(type);
  is_bf16_ = type == ElementType::kBF16;
}

template <class T, int kWidth>
template <class S>
void StridedSource<T, kWidth>::PackLines(const S* from, int64_t panel_count, int64_t k_count,
                                         T* panels) const {
  constexpr int64_t kAhead = 12;  // Prefetch distance in lines, which are far apart in memory.
  for (int64_t k = 0; k < k_count; ++k, from += k_stride_) {
    for (int64_t p = 0; p < panel_count; ++p) {
      const S* line = from + p * kWidth;
      T* to = panels + (p * k_count + k) * kWidth;
      if (k + kAhead < k_count) __builtin_prefetch(line + kAhead * k_stride_);
      if constexpr (std::is_same_v<S, T>) {
        std::memcpy(to, line, kWidth * sizeof(T));
      } else {
#pragma GCC unroll 2
        for (int i = 0; i < kWidth; i += kLanes<T>) StoreVector(to + i, LoadAs<T>(line + i));
      }
    }
  }
}

template <class T, int kWidth>
void StridedSource<T, kWidth>::PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                          T* panels) const {
  const int64_t whole = count / kWidth;
  const std::byte* from = data_ + (first * stride_ + k_first * k_stride_) * width_;
  bool done = false;
  if (stride_ == 1 && is_native_) {
    PackLines(reinterpret_cast<const T*>(from), whole, k_count, panels);
    done = true;
  } else if constexpr (std::is_same_v<T, float> && kWidth % kLanes<float> == 0) {
    if (stride_ == 1 && is_bf16_) {
      PackLines(reinterpret_cast<const bfloat16*>(from), whole, k_count, panels);
      done = true;
    }
  }
  if (done) {
    const int64_t packed = whole * kWidth;
    if (packed < count) Pack(first + packed, count - packed, k_first, k_count, panels + packed * k_count);
    return;
  }
  for (; count > 0; first += kWidth, count -= kWidth, panels += kWidth * k_count) {
    if (k_stride_ == 1 && !is_native_)
      PrefetchLines(first + kWidth, std::min<int64_t>(kWidth, count - kWidth), k_first, k_count);
    Pack(first, std::min<int64_t>(kWidth, count), k_first, k_count, panels);
  }
}

template <class T, int kWidth>
void StridedSource<T, kWidth>::PrefetchLines(int64_t first, int64_t count, int64_t k_first,
                                             int64_t k_count) const {
  constexpr int64_t kCacheLine = 64;
  for (int64_t i = 0; i < count; ++i) {
    const std::byte* row = data_ + ((first + i) * stride_ + k_first) * width_;
    for (int64_t at = 0; at < k_count * width_; at += kCacheLine) __builtin_prefetch(row + at);
  }
}

template <class T, int kWidth>
void StridedSource<T, kWidth>::Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                    T* panel) const {
  const std::byte* from = data_ + (first * stride_ + k_first * k_stride_) * width_;
  if (k_stride_ == 1 && is_native_) {
    const T* rows[kWidth];
    for (int64_t i = 0; i < count; ++i) rows[i] = reinterpret_cast<const T*>(from) + i * stride_;
    PackRows<T, kWidth>(rows, count, k_count, panel);
  } else if (k_stride_ == 1 && stride_ != 1) {
    alignas(64) T widened[kWidth * kPanelDepth];
    const T* rows[kWidth];
    for (int64_t i = 0; i < count; ++i) rows[i] = widened + i * kPanelDepth;
    for (int64_t k = 0; k < k_count; k += kPanelDepth) {
      const int64_t depth = std::min(kPanelDepth, k_count - k);
      widen_(from + k * width_, stride_, 1, count, depth, widened, kPanelDepth);
      PackRows<T, kWidth>(rows, count, depth, panel + k * kWidth);
    }
  } else {
    if (count < kWidth) std::fill_n(panel, k_count * kWidth, T{});
    widen_(from, k_stride_, stride_, k_count, count, panel, kWidth);
  }
}

template <class T, int kWidth>
void ComputedSource<T, kWidth>::PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                           T* panels) const {
  const bool along_k = k_stride_ == 1;
  const int64_t rows = along_k ? count : k_count, columns = along_k ? k_count : count;
  void* block = Scratch(ScratchSlot::kComputed, rows * columns * ByteCount(type_));
  compute_.run(compute_.context, {first_ + first * stride_ + k_first * k_stride_, rows, columns,
                                  along_k ? stride_ : k_stride_, block, columns});
  StridedSource<T, kWidth>(block, type_, along_k ? columns : 1, along_k ? 1 : columns)
      .PackPanels(0, count, 0, k_count, panels);
}

template <class T, int kWidth>
NestedSource<T, kWidth>::NestedSource(const void* data, ElementType type, Index sizes, Index strides,
                                      Index k_sizes, Index k_strides)
    : data_(static_cast<const std::byte*>(data)),
      width_(ByteCount(type)),
      sizes_(std::move(sizes)),
      strides_(std::move(strides)),
      k_sizes_(std::move(k_sizes)),
      k_strides_(std::move(k_strides)),
      widen_(WidenBlockOf<T>(type)) {}

template <class T, int kWidth>
void NestedSource<T, kWidth>::Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                   T* panel) const {
  if (count < kWidth) std::fill_n(panel, k_count * kWidth, T{});
  for (int64_t i = 0; i < count;) {
    const Run row = RunFrom(first + i, count - i, sizes_, strides_);
    for (int64_t k = 0; k < k_count;) {
      const Run column = RunFrom(k_first + k, k_count - k, k_sizes_, k_strides_);
      widen_(data_ + (row.offset + column.offset) * width_, k_strides_.back(), strides_.back(), column.count,
             row.count, panel + k * kWidth + i, kWidth);
      k += column.count;
    }
    i += row.count;
  }
}

bool FitsPairs(ElementType type) {
  return IsPred(type) || (IsIntegral(type) && BitWidth(type) <= (IsSigned(type) ? 16 : 8));
}

template <int kWidth>
PairSource<kWidth>::PairSource(const void* data, ElementType type, int64_t stride, int64_t k_stride,
                               int64_t k_count)
    : data_(static_cast<const std::byte*>(data)),
      width_(ByteCount(type)),
      stride_(stride),
      k_stride_(k_stride),
      k_count_(k_count),
      widen_(WidenBlockOf<int16_t>(type)) {}

template <int kWidth>
void PairSource<kWidth>::Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                              uint32_t* panel) const {
  constexpr int64_t kDepth = kPanelDepth;
  alignas(64) int16_t terms[2 * kDepth * kWidth];
  alignas(64) uint32_t pairs[kDepth * kWidth];
  for (int64_t k = 0; k < k_count; k += kDepth) {
    const int64_t depth = std::min(kDepth, k_count - k), begin = 2 * (k_first + k);
    const int64_t found = std::min(2 * depth, k_count_ - begin);
    const std::byte* from = data_ + (first * stride_ + begin * k_stride_) * width_;
    uint32_t* to = panel + k * kWidth;
    if (k_stride_ == 1 && stride_ != 1) {
      if (found < 2 * depth) std::fill_n(terms, 2 * depth * count, 0);
      widen_(from, stride_, 1, count, found, terms, 2 * depth);
      std::memcpy(pairs, terms, static_cast<size_t>(depth * count) * sizeof(uint32_t));
      const uint32_t* rows[kWidth];
      for (int64_t i = 0; i < count; ++i) rows[i] = pairs + i * depth;
      PackRows<uint32_t, kWidth>(rows, count, depth, to);
      continue;
    }
    if (count < kWidth || found < 2 * depth) std::fill_n(terms, 2 * depth * kWidth, 0);
    widen_(from, k_stride_, stride_, found, count, terms, kWidth);
    for (int64_t j = 0; j < depth; ++j, to += kWidth) {
      const int16_t *lower = terms + 2 * j * kWidth, *upper = lower + kWidth;
      for (int i = 0; i < kWidth; ++i)
        to[i] = static_cast<uint16_t>(lower[i]) | static_cast<uint32_t>(upper[i]) << 16;
    }
  }
}

#define HLO_COMPUTE_TYPE(T)                                                        \
  template class StridedSource<T, kPanelRows<T>>;                                  \
  template class StridedSource<T, kPanelColumns<T>>;                               \
  template class NestedSource<T, kPanelRows<T>>;                                   \
  template class NestedSource<T, kPanelColumns<T>>;                                \
  template class ComputedSource<T, kPanelRows<T>>;                                 \
  template class ComputedSource<T, kPanelColumns<T>>;                              \
  template void PackRows<T, kPanelRows<T>>(const T* const*, int64_t, int64_t, T*); \
  template void PackRows<T, kPanelColumns<T>>(const T* const*, int64_t, int64_t, T*);
HLO_COMPUTE_TYPES(HLO_COMPUTE_TYPE)
#undef HLO_COMPUTE_TYPE
template class PairSource<kPanelRows<uint32_t>>;
template class PairSource<kPanelColumns<uint32_t>>;

}  // namespace hlo::cpu
