#pragma once
// This file implements implicit im2col: the patches of a convolution's input as an operand of a matrix
// product. Rows are output positions, terms are kernel positions. Panels are packed on demand; the matrix is
// never stored.

#include <algorithm>
#include <optional>

#include "base/arithmetic.h"
#include "base/raw_array.h"
#include "hlo_run/attribute.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// The sizes and strides (in elements) of a convolution. Spatial dimensions are in the window's order.
struct ConvolutionLayout {
  Index input, input_strides;  // Spatial dimensions.
  Index window,
      window_strides;         // Kernel sizes and strides; negative strides are reversed dimensions.
  int64_t window_origin = 0;  // Offset of position [0, ..., 0] in the kernel.
  Index output, output_strides;
  Index stride, padding, window_dilation, base_dilation;
  int64_t batch, input_batch_stride, output_batch_stride;  // The batch is that of the output.
  int64_t group_inputs, input_feature_stride, kernel_input_stride;
  int64_t outputs, kernel_output_stride, output_feature_stride;
  int64_t groups, group_outputs;
  int64_t input_group_stride;  // Distance between the inputs of adjacent groups.

  int64_t rank() const { return input.rank(); }
  int64_t taps() const { return Product(window); }
  // The elements of the input and of the output.
  int64_t input_count() const { return batch * Product(input) * groups * group_inputs; }
  int64_t output_count() const { return batch * Product(output) * outputs; }
};

// A dimension of the output that the rows of a product span.
struct PatchDim {
  static constexpr int64_t kBatch = -1;
  int64_t size;
  int64_t spatial;  // A spatial dimension, or kBatch.
};

// Finds patches of the input. Element (p, k) is the input under kernel position k at output position p, or 0
// on padding and in dilation holes. Input features are the fastest part of k if they are contiguous in
// memory, otherwise the slowest. kWidth positions are looked up together.
template <class T, int kWidth>
class Patches {
 public:
  // `input` points to the first element of the group's features.
  Patches(const T* input, const ConvolutionLayout& layout, absl::Span<const PatchDim> dims)
      : input_(input), layout_(layout), dims_(dims) {
    const int64_t last = layout.rank() - 1;
    is_feature_last_ = layout.input_feature_stride == 1;
    unit_ = is_feature_last_ ? layout.group_inputs : 1;
    // The last dimension of the window is contiguous, with the features if these are the fastest part of k.
    joins_ = last >= 0 && layout.window_dilation[last] == 1 && layout.base_dilation[last] == 1 &&
             layout.input_strides[last] == unit_ && layout.window[last] > 1;
    has_runs_ = is_feature_last_ ||
                (joins_ && layout.window[last] >= kMinRun && (dims.empty() || dims.back().size < kWidth));
    outer_rank_ = joins_ ? last : layout.rank();
    inner_ = unit_ * (joins_ ? layout.window[last] : 1);
    for (int64_t d = 0; d < outer_rank_; ++d) outer_taps_ *= layout.window[d];
  }

  // Sets to[i * ld + k] = element (first + i, k_first + k). The input features must be contiguous.
  void CopyRows(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* to, int64_t ld) const {
    EachRun(first, count, k_first, k_count, [&](int64_t k, int64_t run, const T* const* rows) {
      for (int64_t i = 0; i < count; ++i) std::copy_n(rows[i], run, to + i * ld + k);
    });
  }

 protected:
  // An output position: the origin of its patch along each spatial dimension, and its batch offset.
  struct Position {
    int64_t batch_offset = 0;
    Index origin;
  };

  Position PositionOf(int64_t p) const {
    Position position;
    position.origin = Zeros(layout_.rank());
    for (size_t d = dims_.size(); d-- > 0;) {
      const int64_t i = p % dims_[d].size;
      p /= dims_[d].size;
      if (dims_[d].spatial == PatchDim::kBatch)
        position.batch_offset = i * layout_.input_batch_stride;
      else
        position.origin[dims_[d].spatial] = i * layout_.stride[dims_[d].spatial];
    }
    for (int64_t d = 0; d < layout_.rank(); ++d) position.origin[d] -= layout_.padding[d];
    return position;
  }

  // Returns the input index under window position w along dimension d, or -1 if there is none.
  int64_t Under(const Position& position, int64_t d, int64_t w) const {
    int64_t p = position.origin[d] + w * layout_.window_dilation[d];
    if (p < 0) return -1;
    if (layout_.base_dilation[d] != 1) {
      if (p % layout_.base_dilation[d] != 0) return -1;
      p /= layout_.base_dilation[d];
    }
    return p < layout_.input[d] ? p : -1;
  }

  // Returns the multi-index of row-major window position `w` over the first `rank` dimensions.
  Index WindowIndex(int64_t w, int64_t rank) const {
    Index i = Zeros(rank);
    for (int64_t d = rank - 1; d >= 0; --d) {
      i[d] = w % layout_.window[d];
      w /= layout_.window[d];
    }
    return i;
  }

  // Positions of a panel that are consecutive along one dimension of the output.
  struct Group {
    int64_t first, count;
    Position position;  // The first position.
    int64_t spatial;    // The dimension, or PatchDim::kBatch.
    int64_t step;       // Input stride between consecutive positions.
  };

  int64_t GroupsOf(int64_t first, int64_t count, Group* groups) const {
    int64_t n = 0;
    const PatchDim fast = dims_.empty() ? PatchDim{1, PatchDim::kBatch} : dims_.back();
    const bool is_batch = fast.spatial == PatchDim::kBatch;
    const bool has_holes = !is_batch && layout_.base_dilation[fast.spatial] != 1;
    for (int64_t i = 0; i < count;) {
      const int64_t size = has_holes ? 1 : std::min(count - i, fast.size - (first + i) % fast.size);
      groups[n++] = {i, size, PositionOf(first + i), fast.spatial,
                     is_batch ? layout_.input_batch_stride
                              : layout_.stride[fast.spatial] * layout_.input_strides[fast.spatial]};
      i += size;
    }
    return n;
  }

  // Returns the input offset of window position w along dimension d, and narrows [*low, *high) to the
  // positions of the group that are inside the input. Returns nullopt if there are none.
  std::optional<int64_t> OffsetAlong(const Group& group, int64_t d, int64_t w, int64_t* low,
                                     int64_t* high) const {
    if (d != group.spatial || group.count == 1) {
      const int64_t p = Under(group.position, d, w);
      return p < 0 ? std::nullopt : std::optional(p * layout_.input_strides[d]);
    }
    const int64_t p = group.position.origin[d] + w * layout_.window_dilation[d];
    const int64_t stride = layout_.stride[d], room = layout_.input[d] - p;
    *low = std::clamp(p >= 0 ? 0 : CeilDiv(-p, stride), *low, *high);
    *high = std::clamp(room <= 0 ? 0 : CeilDiv(room, stride), *low, *high);
    return *low == *high ? std::nullopt : std::optional(p * layout_.input_strides[d]);
  }

  // A range of the elements under one position of the outer window dimensions.
  struct Run {
    int64_t first, count;
  };

  // Finds the run of each position of the group; runs that are partly padding are copied to `edges`.
  void FindRows(const Group& group, const Index& window, int64_t feature, Run run, const T** rows,
                T* edges) const {
    alignas(64) static constexpr T kZeros[kPanelDepth] = {};
    std::fill_n(rows, group.count, kZeros);
    int64_t first = group.position.batch_offset + feature + run.first, low = 0, high = group.count;
    for (int64_t d = 0; d < outer_rank_; ++d) {
      const std::optional<int64_t> offset = OffsetAlong(group, d, window[d], &low, &high);
      if (!offset.has_value()) return;
      first += *offset;
    }
    if (!joins_) {
      for (int64_t i = low; i < high; ++i) rows[i] = input_ + (first + i * group.step);
      return;
    }
    const int64_t last = layout_.rank() - 1, step = group.spatial == last ? layout_.stride[last] : 0;
    const int64_t first_origin = group.position.origin[last];
    first += first_origin * unit_;
    for (int64_t i = low; i < high; ++i) {
      const int64_t origin = first_origin + i * step;
      if (origin >= 0 && origin + layout_.window[last] <= layout_.input[last])
        rows[i] = input_ + (first + i * group.step);
      else if (CopyInside(origin, first + i * group.step, run, edges + i * kPanelDepth))
        rows[i] = edges + i * kPanelDepth;
    }
  }

  // Copies the part of a run inside the input's row and pads it with zeros; returns false if it is empty.
  bool CopyInside(int64_t origin, int64_t first, Run run, T* to) const {
    const int64_t last = layout_.rank() - 1, size = layout_.window[last];
    const auto at = [&](int64_t position) {
      return std::clamp(std::clamp(position, int64_t{0}, size) * unit_ - run.first, int64_t{0}, run.count);
    };
    const int64_t low = at(-origin), high = std::max(at(layout_.input[last] - origin), low);
    if (low == high) return false;
    std::fill_n(to, run.count, T{});
    std::copy_n(input_ + (first + low), high - low, to + low);
    return true;
  }

  // Calls f(k, run, rows) for runs of terms k_first + k, ..., which rows[i] points to for position first + i.
  // The input must have runs of contiguous elements along k.
  template <class F>
  void EachRun(int64_t first, int64_t count, int64_t k_first, int64_t k_count, F&& f) const {
    RawArray<T, kWidth * kPanelDepth> edges;
    Group groups[kWidth];
    const int64_t group_count = GroupsOf(first, count, groups);
    for (int64_t k = 0; k < k_count;) {
      const int64_t w = (k_first + k) / inner_, r = (k_first + k) % inner_;
      const Run run{r, std::min({inner_ - r, k_count - k, kPanelDepth})};
      const int64_t feature = w / outer_taps_ * layout_.input_feature_stride;
      const Index window = WindowIndex(w, outer_rank_);
      const T* rows[kWidth];
      for (int64_t g = 0; g < group_count; ++g) {
        const int64_t at = groups[g].first;
        FindRows(groups[g], window, feature, run, rows + at, edges.data() + at * kPanelDepth);
      }
      f(k, run.count, rows);
      k += run.count;
    }
  }

  static constexpr int64_t kMinRun = 8;

  const T* input_;
  const ConvolutionLayout& layout_;
  absl::Span<const PatchDim> dims_;
  bool is_feature_last_, joins_, has_runs_;
  int64_t unit_;  // Elements per position of the last window dimension.
  int64_t outer_rank_, outer_taps_ = 1, inner_;
};

// Packs patches as an operand of a product: transposes runs of contiguous elements along k, or copies
// elements of adjacent positions.
template <class T, int kWidth>
class PatchSource final : public PanelSource<T, kWidth>, private Patches<T, kWidth> {
 public:
  PatchSource(const T* input, const ConvolutionLayout& layout, absl::Span<const PatchDim> dims)
      : Patches<T, kWidth>(input, layout, dims) {}

  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override {
    if (has_runs_)
      PackRuns(first, count, k_first, k_count, panel);
    else
      PackPositions(first, count, k_first, k_count, panel);
  }

 private:
  using typename Patches<T, kWidth>::Group;
  using typename Patches<T, kWidth>::Run;
  using Patches<T, kWidth>::input_;
  using Patches<T, kWidth>::layout_;
  using Patches<T, kWidth>::has_runs_;
  using Patches<T, kWidth>::GroupsOf;
  using Patches<T, kWidth>::OffsetAlong;
  using Patches<T, kWidth>::WindowIndex;

  void PackRuns(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const {
    this->EachRun(first, count, k_first, k_count, [&](int64_t k, int64_t run, const T* const* rows) {
      PackRows<T, kWidth>(rows, count, run, panel + k * kWidth);
    });
  }

  void PackPositions(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const {
    Group groups[kWidth];
    const int64_t group_count = GroupsOf(first, count, groups);
    const int64_t last = layout_.rank() - 1, length = last < 0 ? 1 : layout_.window[last];
    const int64_t outer_taps = layout_.taps() / length;
    for (int64_t k = 0; k < k_count;) {
      const int64_t w = (k_first + k) / length, begin = (k_first + k) % length;
      const Run run{begin, std::min(length - begin, k_count - k)};
      const Index window = WindowIndex(w, std::max<int64_t>(last, 0));
      for (int64_t g = 0; g < group_count; ++g)
        PackGroup(groups[g], window, w / outer_taps * layout_.input_feature_stride, run,
                  panel + k * kWidth + groups[g].first);
      for (int64_t i = 0; i < run.count && count < kWidth; ++i)
        std::fill_n(panel + (k + i) * kWidth + count, kWidth - count, T{});
      k += run.count;
    }
  }

  // Packs a run along the last window dimension for the positions of a group.
  void PackGroup(const Group& group, const Index& window, int64_t offset, Run run, T* to) const {
    offset += group.position.batch_offset;
    const int64_t last = layout_.rank() - 1;
    int64_t low = 0, high = group.count;
    for (int64_t d = 0; d < last; ++d) {
      const std::optional<int64_t> along = OffsetAlong(group, d, window[d], &low, &high);
      if (!along.has_value()) {
        for (int64_t i = 0; i < run.count; ++i) std::fill_n(to + i * kWidth, group.count, T{});
        return;
      }
      offset += *along;
    }
    for (int64_t i = 0; i < run.count; ++i, to += kWidth) {
      int64_t from = low, end = high;
      const std::optional<int64_t> along =
          last < 0 ? 0 : OffsetAlong(group, last, run.first + i, &from, &end);
      if (along.has_value())
        CopyGroup(group, input_ + (offset + *along), from, end, to);
      else
        std::fill_n(to, group.count, T{});
    }
  }

  // Copies the elements of positions [low, high) of a group; `origin` belongs to its first position.
  static void CopyGroup(const Group& group, const T* origin, int64_t low, int64_t high, T* to) {
    if (group.step == 1 && low == 0 && high == kWidth) {
      std::memcpy(to, origin, kWidth * sizeof(T));
      return;
    }
    for (int64_t j = 0; j < low; ++j) to[j] = T{};
    int64_t j = low;
    if (group.step == 1) {
      constexpr int64_t kAtOnce = 4;
      for (; j + kAtOnce <= high; j += kAtOnce) std::memcpy(to + j, origin + j, kAtOnce * sizeof(T));
    }
    for (; j < high; ++j) to[j] = origin[j * group.step];
    for (; j < group.count; ++j) to[j] = T{};
  }
};

}  // namespace hlo::cpu
