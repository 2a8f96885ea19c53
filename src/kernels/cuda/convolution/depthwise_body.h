#pragma once
// Depthwise convolution: each filter reads one input feature. A thread block loads the input tile of its
// outputs into shared memory once. Each output is one accumulation in ascending order of the taps.

#include "kernels/cuda/gemm/thin_gemm_body.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/halves.h"
#include "kernels/cuda/memory/element_io.h"

namespace hlo::cuda {

constexpr uint32_t kDepthwiseThreads = 256;

struct DepthwiseDim {
  int32_t input = 1, output = 1, taps = 1;
  int32_t stride = 1, padding = 0, dilation = 1;
  int64_t input_stride = 0, filter_stride = 0, output_stride = 0;
  uint32_t tile = 1, reach = 1;  // Outputs per thread block, and the input elements that they read.
  FastDiv tiles;
};
struct DepthwiseArgs {
  const void *input = nullptr, *filter = nullptr;
  void* result = nullptr;
  ElementType input_type = ElementType::kF32, filter_type = ElementType::kF32,
              result_type = ElementType::kF32;
  DepthwiseDim rows, columns;
  uint32_t features = 1;  // Features of the result.
  // Features per thread block; more than 1 only if each input feature has one filter.
  uint32_t feature_tile = 1;
  FastDiv feature_tiles, multiplier;  // `multiplier`: result features per input feature.
  int64_t input_batch = 0, input_feature = 0, filter_origin = 0, filter_feature = 0, result_batch = 0,
          result_feature = 0;
};

struct Depthwise {
  using Args = DepthwiseArgs;
  static constexpr uint32_t kThreads = kDepthwiseThreads;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const DepthwiseDim &h = args.rows, &w = args.columns;
    uint32_t rest = env.block().x;
    const auto digit = [&](const FastDiv& size) {
      const uint32_t quotient = size.Quotient(rest), value = rest - quotient * size.divisor;
      rest = quotient;
      return value;
    };
    const uint32_t tile_w = digit(w.tiles), tile_h = digit(h.tiles),
                   first_feature = digit(args.feature_tiles) * args.feature_tile, batch = rest;
    const int32_t row = static_cast<int32_t>(tile_h * h.tile) * h.stride - h.padding,
                  column = static_cast<int32_t>(tile_w * w.tile) * w.stride - w.padding;
    auto* under = reinterpret_cast<float*>(env.shared());
    // Layout: [rows][columns][features].
    const uint32_t count = h.reach * w.reach * args.feature_tile;
    for (uint32_t x = env.thread(); x < count; x += env.threads()) {
      const uint32_t f = first_feature + x % args.feature_tile, position = x / args.feature_tile;
      const int32_t i = row + static_cast<int32_t>(position / w.reach),
                    j = column + static_cast<int32_t>(position % w.reach);
      const bool exists = f < args.features && i >= 0 && i < h.input && j >= 0 && j < w.input;
      under[x] = !exists ? 0
                         : LoadCommonElement<float>(args.input_type, args.input,
                                                    batch * args.input_batch +
                                                        args.multiplier.Quotient(f) * args.input_feature +
                                                        i * h.input_stride + j * w.input_stride);
    }
    env.sync();
    const uint32_t f = env.thread() % args.feature_tile, position = env.thread() / args.feature_tile,
                   feature = first_feature + f;
    const int32_t in_row = static_cast<int32_t>(position / w.tile),
                  in_column = static_cast<int32_t>(position % w.tile);
    const int32_t o = static_cast<int32_t>(tile_h * h.tile) + in_row,
                  p = static_cast<int32_t>(tile_w * w.tile) + in_column;
    if (feature >= args.features || in_row >= static_cast<int32_t>(h.tile) || o >= h.output || p >= w.output)
      return;
    const int64_t filter = args.filter_origin + feature * args.filter_feature;
    float sum = 0;
    for (int32_t a = 0; a < h.taps; ++a) {
      const int32_t i = in_row * h.stride + a * h.dilation;
      if (row + i < 0 || row + i >= h.input) continue;
      for (int32_t b = 0; b < w.taps; ++b) {
        const int32_t j = in_column * w.stride + b * w.dilation;
        if (column + j < 0 || column + j >= w.input) continue;
        const float tap = LoadCommonElement<float>(args.filter_type, args.filter,
                                                   filter + a * h.filter_stride + b * w.filter_stride);
        sum = MultiplyAdd(
            under[(static_cast<uint32_t>(i) * w.reach + static_cast<uint32_t>(j)) * args.feature_tile + f],
            tap, sum);
      }
    }
    StoreElement<float>(
        args.result_type, args.result,
        batch * args.result_batch + feature * args.result_feature + o * h.output_stride + p * w.output_stride,
        sum);
  }
};

// Depthwise convolution of features that are adjacent in memory: a thread computes kOutputs adjacent columns
// of as many features as 16 bytes hold, with the filter's row and the input's in registers. The sums are
// those of Depthwise.
struct DepthwiseVectorArgs {
  DepthwiseArgs convolution;
  FastDiv vectors, groups, rows;  // Vectors per row of features, groups of columns, rows of the result.
  uint32_t count = 0;             // Threads with work.
};

HLO_DEVICE void NarrowTo(float value, float* to) { *to = value; }
HLO_DEVICE void NarrowTo(float value, HalfBits* to) { to->bits = F16Of(value); }
HLO_DEVICE void NarrowTo(float value, BFloatBits* to) { to->bits = FloatToBF16(value); }

template <class Stored, int kTaps, int kStride>
struct DepthwiseVectors {
  using Args = DepthwiseVectorArgs;
  using Vector = Vector16<Stored>;
  static constexpr uint32_t kThreads = 256, kOutputs = 4, kWidth = Vector::kCount, kMinBlocks = 2;
  static constexpr int kSpan = (kOutputs - 1) * kStride + kTaps;  // Input columns of a thread.

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    uint32_t rest = env.block().x * kThreads + env.thread();
    if (rest >= args.count) return;
    const auto digit = [&](const FastDiv& size) {
      const uint32_t quotient = size.Quotient(rest), value = rest - quotient * size.divisor;
      rest = quotient;
      return value;
    };
    const uint32_t feature = digit(args.vectors) * kWidth, group = digit(args.groups), row = digit(args.rows),
                   batch = rest;
    const DepthwiseArgs& c = args.convolution;
    const Stored* input = static_cast<const Stored*>(c.input) + batch * c.input_batch + feature;
    const Stored* filter = static_cast<const Stored*>(c.filter) + c.filter_origin + feature;
    const int32_t first = static_cast<int32_t>(group * kOutputs) * kStride - c.columns.padding;
    float sums[kOutputs][kWidth] = {};
    HLO_ROLLED
    for (int32_t a = 0; a < c.rows.taps; ++a) {
      const int32_t i = static_cast<int32_t>(row) * c.rows.stride - c.rows.padding + a * c.rows.dilation;
      if (i < 0 || i >= c.rows.input) continue;
      AddRow(c, input + i * c.rows.input_stride, filter + a * c.rows.filter_stride, first, sums);
    }
    Stored* result =
        static_cast<Stored*>(c.result) + batch * c.result_batch + row * c.rows.output_stride + feature;
    HLO_UNROLL
    for (uint32_t o = 0; o < kOutputs; ++o) {
      const uint32_t column = group * kOutputs + o;
      if (column >= static_cast<uint32_t>(c.columns.output)) continue;
      Vector stored;
      HLO_UNROLL
      for (uint32_t f = 0; f < kWidth; ++f) NarrowTo(sums[o][f], &stored.x[f]);
      *reinterpret_cast<Vector*>(result + column * c.columns.output_stride) = stored;
    }
  }

 private:
  // Adds the products of one row of the filter. Taps beyond the input are skipped, because they may be
  // infinite.
  static HLO_DEVICE void AddRow(const DepthwiseArgs& c, const Stored* input, const Stored* filter,
                                int32_t first, float (&sums)[kOutputs][kWidth]) {
    Vector values[kSpan], taps[kTaps];
    HLO_UNROLL
    for (int j = 0; j < kSpan; ++j) {
      if (IsInside(c, first + j))
        values[j] = *reinterpret_cast<const Vector*>(input + (first + j) * c.columns.input_stride);
    }
    HLO_UNROLL
    for (int b = 0; b < kTaps; ++b)
      taps[b] = *reinterpret_cast<const Vector*>(filter + b * c.columns.filter_stride);
    HLO_UNROLL
    for (int j = 0; j < kSpan; ++j) {
      if (!IsInside(c, first + j)) continue;
      HLO_UNROLL
      for (int o = 0; o < static_cast<int>(kOutputs); ++o) {
        const int b = j - o * kStride;
        if (b < 0 || b >= kTaps) continue;
        HLO_UNROLL
        for (uint32_t f = 0; f < kWidth; ++f)
          sums[o][f] = MultiplyAdd(Widen(values[j].x[f]), Widen(taps[b].x[f]), sums[o][f]);
      }
    }
  }
  static HLO_DEVICE bool IsInside(const DepthwiseArgs& c, int32_t column) {
    return column >= 0 && column < c.columns.input;
  }
};

}  // namespace hlo::cuda
