#include "kernels/cpu/convolution/depthwise.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/simd/widen.h"

namespace hlo::cpu {
namespace {

// An offset in the input and the offset of its weight in the kernel.
struct Tap {
  int64_t input, kernel;
};

// Collects taps, in memory that it keeps.
class TapCollector {
 public:
  // Returns the taps of the first `rank` spatial dimensions at output position o that are inside the input.
  absl::Span<const Tap> At(const ConvolutionLayout& c, const Index& o, int64_t rank) {
    taps_.assign(1, Tap{0, c.window_origin});
    for (int64_t d = 0; d < rank; ++d) {
      next_.clear();
      for (const Tap& tap : taps_) {
        for (int64_t w = 0; w < c.window[d]; ++w) {
          const int64_t p = o[d] * c.stride[d] - c.padding[d] + w * c.window_dilation[d];
          if (p < 0 || p % c.base_dilation[d] != 0 || p / c.base_dilation[d] >= c.input[d]) continue;
          next_.push_back({tap.input + p / c.base_dilation[d] * c.input_strides[d],
                           tap.kernel + w * c.window_strides[d]});
        }
      }
      taps_.swap(next_);
    }
    return taps_;
  }

 private:
  CachedVector<Tap> taps_, next_;
};

// Returns the multi-index of linear index i in an array with these dimensions.
Index IndexOf(int64_t i, absl::Span<const int64_t> dims) {
  Index index = Zeros(static_cast<int64_t>(dims.size()));
  for (int64_t d = index.rank() - 1; d >= 0; --d) {
    index[d] = i % dims[d];
    i /= dims[d];
  }
  return index;
}

// --- Rows

// The padded layout of rows of the last spatial dimension: padding and dilation are filled with zeros, and
// rows are split into `stride` phases so that inputs of adjacent outputs are contiguous.
//   padded position x is stored in phase x % stride at index x / stride.
struct PaddedRows {
  int64_t stride, phase_size, row_size;

  explicit PaddedRows(const ConvolutionLayout& c) {
    const int64_t last = c.rank() - 1;
    stride = c.stride[last];
    const int64_t reach = (c.window[last] - 1) * c.window_dilation[last];
    phase_size = c.output[last] + reach / stride + 1;
    row_size = stride * phase_size;
  }
};

template <class T>
void PadRow(const T* row, const ConvolutionLayout& c, const PaddedRows& padded, T* to) {
  const int64_t last = c.rank() - 1, padding = c.padding[last], dilation = c.base_dilation[last];
  std::fill_n(to, padded.row_size, T{});
  // Input element p has padded position p * dilation + padding.
  const int64_t first = padding >= 0 ? 0 : CeilDiv(-padding, dilation);
  int64_t x = first * dilation + padding;
  if (padded.stride == 1 && dilation == 1) {
    const int64_t count = std::min(c.input[last] - first, padded.row_size - x);
    if (count > 0) std::copy_n(row + first, count, to + x);
    return;
  }
  int64_t phase = x % padded.stride, offset = x / padded.stride;
  for (int64_t p = first; p < c.input[last] && offset < padded.phase_size; ++p) {
    to[phase * padded.phase_size + offset] = row[p];
    phase += dilation % padded.stride;
    offset += dilation / padded.stride;
    if (phase >= padded.stride) {
      phase -= padded.stride;
      ++offset;
    }
  }
}

// The outputs of a plane, which are the same for all planes.
struct PlaneRows {
  struct Row {
    int64_t offset, end;  // The offset in the output, and the end of its taps in `outer`.
  };
  CachedVector<Row> rows;
  CachedVector<Tap> outer;  // The taps of all dimensions but the last one, in padded rows.
  CachedVector<Tap> inner;  // The taps of the last dimension, relative to these.
};

PlaneRows RowsOfPlane(const ConvolutionLayout& c, const PaddedRows& padded) {
  PlaneRows plane;
  const int64_t last = c.rank() - 1;
  const auto outer = static_cast<size_t>(last);
  // Padded rows are stored in row-major order of the outer dimensions; these are the strides of taps.
  ConvolutionLayout by_row = c;
  const Index row_strides = RowMajorStrides(absl::MakeSpan(c.input).first(outer));
  for (int64_t d = 0; d < last; ++d) by_row.input_strides[d] = row_strides[d] * padded.row_size;
  TapCollector collector;
  for (const Index& o : EachIndex(absl::MakeSpan(c.output).first(outer))) {
    const absl::Span<const Tap> taps = collector.At(by_row, o, last);
    plane.outer.insert(plane.outer.end(), taps.begin(), taps.end());
    plane.rows.push_back({Offset(o, c.output_strides), static_cast<int64_t>(plane.outer.size())});
  }
  for (int64_t w = 0; w < c.window[last]; ++w) {
    const int64_t x = w * c.window_dilation[last];
    plane.inner.push_back(
        {x % padded.stride * padded.phase_size + x / padded.stride, w * c.window_strides[last]});
  }
  return plane;
}

// The taps of a row of outputs: all pairs of `outer` and `inner`.
template <class T>
struct RowTaps {
  absl::Span<const Tap> outer, inner;
  const T *input, *kernel;
};

template <class T, int kVectors>
[[gnu::always_inline]] inline void SumTaps(const RowTaps<T>& taps, int64_t o, T* sums) {
  Vector<T> sum[kVectors] = {};
  for (const Tap& outer : taps.outer) {
    const T *input = taps.input + outer.input + o, *kernel = taps.kernel + outer.kernel;
    for (const Tap& inner : taps.inner) {
      const Vector<T> weight = Broadcast(kernel[inner.kernel]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[v] += weight * LoadVector(input + inner.input + v * kLanes<T>);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) StoreVector(sums + o + v * kLanes<T>, sum[v]);
}

template <class T>
void SumRow(const RowTaps<T>& taps, int64_t count, T* sums) {
  constexpr int kLane = kLanes<T>;
  int64_t o = 0;
  for (; o + 4 * kLane <= count; o += 4 * kLane) SumTaps<T, 4>(taps, o, sums);
  for (; o + 3 * kLane <= count; o += 3 * kLane) SumTaps<T, 3>(taps, o, sums);
  for (; o + 2 * kLane <= count; o += 2 * kLane) SumTaps<T, 2>(taps, o, sums);
  for (; o + kLane <= count; o += kLane) SumTaps<T, 1>(taps, o, sums);
  if (o < count && count >= kLane) {
    SumTaps<T, 1>(taps, count - kLane, sums);  // Some sums are computed twice, with the same result.
    return;
  }
  for (; o < count; ++o) {
    T sum{};
    for (const Tap& outer : taps.outer) {
      for (const Tap& inner : taps.inner)
        sum += taps.kernel[outer.kernel + inner.kernel] * taps.input[outer.input + inner.input + o];
    }
    sums[o] = sum;
  }
}

// Convolves one plane: a feature of one batch entry.
template <class T>
void ConvolvePlane(const T* input, const T* kernel, const ConvolutionLayout& c, const PaddedRows& padded,
                   const PlaneRows& plane, NarrowRow<T> narrow, int64_t width, std::byte* out) {
  const int64_t last = c.rank() - 1;
  const absl::Span<const int64_t> outer_input = absl::MakeSpan(c.input).first(static_cast<size_t>(last));
  T* rows = Scratch<T>(ScratchSlot::kOperand, Product(outer_input) * padded.row_size);
  T* sums = Scratch<T>(ScratchSlot::kResult, c.output[last]);
  T* padded_row = rows;
  for (const Index& i : EachIndex(outer_input)) {
    PadRow(input + Offset(i, c.input_strides), c, padded, padded_row);
    padded_row += padded.row_size;
  }
  int64_t begin = 0;
  for (const PlaneRows::Row& row : plane.rows) {
    const auto outer = absl::MakeConstSpan(plane.outer).subspan(begin, row.end - begin);
    SumRow<T>({outer, plane.inner, rows, kernel}, c.output[last], sums);
    narrow(sums, c.output[last], out + row.offset * width);
    begin = row.end;
  }
}

// --- Features

// Repacks the weights as [input feature of the group, kernel position, output], and updates the layout.
template <class T>
CachedVector<T> PackWeights(const T* kernel, ConvolutionLayout* layout) {
  ConvolutionLayout& c = *layout;
  CachedVector<T> weights(static_cast<size_t>(c.group_inputs * c.taps() * c.outputs));
  T* to = weights.data();
  for (int64_t r = 0; r < c.group_inputs; ++r) {
    for (const Index& w : EachIndex(c.window)) {
      const T* from = kernel + c.window_origin + Offset(w, c.window_strides) + r * c.kernel_input_stride;
      for (int64_t z = 0; z < c.outputs; ++z) *to++ = from[z * c.kernel_output_stride];
    }
  }
  c.window_origin = 0;
  c.window_strides = RowMajorStrides(c.window);
  for (int64_t d = 0; d < c.rank(); ++d) c.window_strides[d] *= c.outputs;
  c.kernel_input_stride = c.taps() * c.outputs;
  c.kernel_output_stride = 1;
  return weights;
}

// Sums the products of adjacent groups at one output position.
template <class T, int kVectors>
[[gnu::always_inline]] inline void SumVectors(const T* input, const T* kernel, const ConvolutionLayout& c,
                                              absl::Span<const Tap> taps, T* sums) {
  Vector<T> sum[kVectors] = {};
  for (int64_t r = 0; r < c.group_inputs; ++r) {
    // The partial sums of each input feature keep the rounding errors of many taps small.
    Vector<T> partial[kVectors] = {};
    for (const Tap& tap : taps) {
      const T *x = input + tap.input, *weight = kernel + tap.kernel;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        partial[v] += LoadVector(weight + v * kLanes<T>) * LoadVector(x + v * kLanes<T>);
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v] += partial[v];
    input += c.input_feature_stride;
    kernel += c.kernel_input_stride;
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) StoreVector(sums + v * kLanes<T>, sum[v]);
}

// Sums the products of all groups, which are adjacent, at one output position.
template <class T>
void SumFeatures(const T* input, const T* kernel, const ConvolutionLayout& c, absl::Span<const Tap> taps,
                 T* sums) {
  constexpr int kLane = kLanes<T>;
  int64_t z = 0;
  for (; z + 4 * kLane <= c.groups; z += 4 * kLane)
    SumVectors<T, 4>(input + z, kernel + z, c, taps, sums + z);
  for (; z + 2 * kLane <= c.groups; z += 2 * kLane)
    SumVectors<T, 2>(input + z, kernel + z, c, taps, sums + z);
  for (; z + kLane <= c.groups; z += kLane) SumVectors<T, 1>(input + z, kernel + z, c, taps, sums + z);
  if (z < c.groups && c.groups >= kLane) {
    z = c.groups - kLane;  // Some sums are computed twice, with the same result.
    SumVectors<T, 1>(input + z, kernel + z, c, taps, sums + z);
    return;
  }
  for (; z < c.groups; ++z) {
    T sum{};
    for (int64_t r = 0; r < c.group_inputs; ++r) {
      const T *x = input + r * c.input_feature_stride + z, *weight = kernel + r * c.kernel_input_stride + z;
      T partial{};
      for (const Tap& tap : taps) partial += weight[tap.kernel] * x[tap.input];
      sum += partial;
    }
    sums[z] = sum;
  }
}

// Returns the lanes with input feature kInput of their groups of kGroup features.
template <int kGroup, int kInput, class V, int... kLane>
[[gnu::always_inline]] inline V PickInputs(V v, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(v, v, (kLane / kGroup * kGroup + kInput)...);
}

constexpr int kMaxGroup = 8;

// Sums the products of groups of as many inputs as outputs, at one output position.
template <class T, int kVectors, int... kInput>
[[gnu::always_inline]] inline void SumGroups(const T* input, const T* kernel, const ConvolutionLayout& c,
                                             absl::Span<const Tap> taps, T* sums,
                                             std::integer_sequence<int, kInput...>) {
  constexpr auto kLaneSequence = std::make_integer_sequence<int, kLanes<T>>();
  Vector<T> sum[kVectors] = {};
  for (const Tap& tap : taps) {
    const T* weight = kernel + tap.kernel;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Vector<T> x = LoadVector(input + tap.input + v * kLanes<T>);
      ((sum[v] += LoadVector(weight + kInput * c.kernel_input_stride + v * kLanes<T>) *
                  PickInputs<sizeof...(kInput), kInput>(x, kLaneSequence)),
       ...);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) StoreVector(sums + v * kLanes<T>, sum[v]);
}

template <class T, int kGroup>
void SumFeaturesOfGroups(const T* input, const T* kernel, const ConvolutionLayout& c,
                         absl::Span<const Tap> taps, T* sums) {
  constexpr int kLane = kLanes<T>;
  constexpr auto kInputs = std::make_integer_sequence<int, kGroup>();
  int64_t z = 0;
  for (; z + 4 * kLane <= c.outputs; z += 4 * kLane)
    SumGroups<T, 4>(input + z, kernel + z, c, taps, sums + z, kInputs);
  while (z < c.outputs) {
    z = std::min(z, c.outputs - kLane);  // Some sums are computed twice, with the same result.
    SumGroups<T, 1>(input + z, kernel + z, c, taps, sums + z, kInputs);
    z += kLane;
  }
}

template <class T>
using SumFunction = void (*)(const T*, const T*, const ConvolutionLayout&, absl::Span<const Tap>, T*);

// Returns the function for groups of at most kGroup features, which fit into a vector (PermutesGroups).
template <class T, int kGroup = kMaxGroup>
SumFunction<T> SumFunctionOf(const ConvolutionLayout& c) {
  if constexpr (kGroup == 1) {
    return SumFeatures<T>;
  } else {
    if constexpr (kGroup <= kLanes<T>) {
      if (c.group_outputs == kGroup) return SumFeaturesOfGroups<T, kGroup>;
    }
    return SumFunctionOf<T, kGroup / 2>(c);
  }
}

// The taps of the outputs along the last spatial dimension, of which those inside share a list.
class TapsAlongRow {
 public:
  // `first` is the first output of the row.
  TapsAlongRow(const ConvolutionLayout& c, Index first) : c_(c), at_(std::move(first)) {
    const int64_t last = c.rank() - 1, reach = (c.window[last] - 1) * c.window_dilation[last];
    step_ = c.stride[last] * c.input_strides[last];
    if (c.base_dilation[last] != 1 || c.input[last] <= reach) return;
    inside_ = CeilDiv(std::max<int64_t>(0, c.padding[last]), c.stride[last]);
    const int64_t room = c.input[last] - 1 - reach + c.padding[last];
    end_ = room < 0 ? 0 : room / c.stride[last] + 1;
  }

  // Returns the taps of output o of the row, whose inputs are relative to *offset.
  absl::Span<const Tap> At(int64_t o, int64_t* offset) {
    const bool is_inside = o >= inside_ && o < end_;
    if (!is_inside || !shares_) {
      at_[c_.rank() - 1] = o;
      taps_ = collector_.At(c_, at_, c_.rank());
      first_ = o;
    }
    shares_ = is_inside;
    *offset = (o - first_) * step_;
    return taps_;
  }

 private:
  const ConvolutionLayout& c_;
  Index at_;
  TapCollector collector_;
  absl::Span<const Tap> taps_;  // The taps of output first_.
  int64_t step_, inside_ = 0, end_ = 0, first_ = 0;
  bool shares_ = false;  // taps_ are those of an output inside.
};

}  // namespace

bool DepthwiseRowFits(const ConvolutionLayout& c) {
  const int64_t last = c.rank() - 1;
  if (c.stride[last] > 16) return false;
  const PaddedRows padded(c);
  return padded.row_size <= 8 * (c.input[last] + c.output[last] * padded.stride) + 1024 &&
         padded.row_size * Product(c.input) / std::max<int64_t>(1, c.input[last]) < int64_t{1} << 24;
}

template <class T>
void DepthwiseRows(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                   int64_t width, void* out) {
  const double each =
      static_cast<double>(Product(c.output)) * static_cast<double>(c.taps() + 4) / kLanes<T> + 500;
  const PaddedRows padded(c);
  const PlaneRows rows = RowsOfPlane(c, padded);
  ParallelFor(c.batch * c.groups, each * static_cast<double>(c.batch * c.groups), [&](int64_t plane) {
    const int64_t n = plane / c.groups, z = plane % c.groups;
    ConvolvePlane<T>(
        input + n * c.input_batch_stride + z * c.input_feature_stride, kernel + z * c.kernel_output_stride, c,
        padded, rows, narrow, width,
        static_cast<std::byte*>(out) + (n * c.output_batch_stride + z * c.output_feature_stride) * width);
  });
}

bool PermutesGroups(const ConvolutionLayout& c, int64_t lanes) {
  return c.group_inputs == c.group_outputs && c.group_outputs > 0 &&
         c.group_outputs <= std::min<int64_t>(kMaxGroup, lanes) && lanes % c.group_outputs == 0 &&
         c.outputs >= lanes;
}

template <class T>
void GroupsInner(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                 int64_t width, void* out) {
  ConvolutionLayout packed = c;
  CachedVector<T> weights;
  if (c.kernel_output_stride != 1) {
    weights = PackWeights(kernel, &packed);
    kernel = weights.data();
  }
  const SumFunction<T> sum = SumFunctionOf<T>(c);
  // A work item covers all positions along the last spatial dimension.
  const int64_t last = c.rank() - 1, row_count = Product(c.output) / c.output[last];
  const double all = static_cast<double>(c.batch * Product(c.output)) * static_cast<double>(c.outputs) *
                     static_cast<double>(c.taps() * c.group_inputs + 4) / kLanes<T>;
  ParallelFor(c.batch * row_count, all, [&](int64_t piece) {
    const int64_t n = piece / row_count;
    Index o = IndexOf(piece % row_count, absl::MakeSpan(c.output).first(static_cast<size_t>(last)));
    o.push_back(0);
    T* sums = Scratch<T>(ScratchSlot::kResult, c.outputs);
    std::byte* to =
        static_cast<std::byte*>(out) + (n * c.output_batch_stride + Offset(o, c.output_strides)) * width;
    TapsAlongRow taps_of(packed, std::move(o));
    for (int64_t i = 0; i < c.output[last]; ++i) {
      int64_t offset;
      const absl::Span<const Tap> taps = taps_of.At(i, &offset);
      sum(input + n * c.input_batch_stride + offset, kernel, packed, taps, sums);
      narrow(sums, c.outputs, to + i * c.output_strides[last] * width);
    }
  });
}

template <class T>
void NaiveConvolution(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                      int64_t width, void* out) {
  const double all = static_cast<double>(c.batch * Product(c.output) * c.outputs) *
                     static_cast<double>(c.taps() * c.group_inputs);
  ParallelFor(c.batch * Product(c.output), all, [&](int64_t piece) {
    const int64_t positions = Product(c.output), n = piece / positions;
    const Index o = IndexOf(piece % positions, c.output);
    TapCollector collector;
    const absl::Span<const Tap> taps = collector.At(c, o, c.rank());
    for (int64_t z = 0; z < c.outputs; ++z) {
      const T* from = input + n * c.input_batch_stride + z / c.group_outputs * c.input_group_stride;
      const T* weights = kernel + z * c.kernel_output_stride;
      T sum{};
      for (const Tap& tap : taps) {
        for (int64_t r = 0; r < c.group_inputs; ++r)
          sum +=
              from[tap.input + r * c.input_feature_stride] * weights[tap.kernel + r * c.kernel_input_stride];
      }
      const int64_t at =
          n * c.output_batch_stride + Offset(o, c.output_strides) + z * c.output_feature_stride;
      narrow(&sum, 1, static_cast<std::byte*>(out) + at * width);
    }
  });
}

#define HLO_REAL_TYPE(T)                                                                              \
  template void DepthwiseRows<T>(const T*, const T*, const ConvolutionLayout&, NarrowRow<T>, int64_t, \
                                 void*);                                                              \
  template void GroupsInner<T>(const T*, const T*, const ConvolutionLayout&, NarrowRow<T>, int64_t, void*);
#define HLO_COMPUTE_TYPE(T)                                                                              \
  template void NaiveConvolution<T>(const T*, const T*, const ConvolutionLayout&, NarrowRow<T>, int64_t, \
                                    void*);
HLO_REAL_COMPUTE_TYPES(HLO_REAL_TYPE)
HLO_COMPUTE_TYPES(HLO_COMPUTE_TYPE)
#undef HLO_REAL_TYPE
#undef HLO_COMPUTE_TYPE

}  // namespace hlo::cpu
