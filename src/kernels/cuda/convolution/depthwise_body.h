#pragma once
// Depthwise convolution: each filter reads one input feature. A thread block loads the input tile of its
// outputs into shared memory once. Each output is one accumulation in ascending order of the taps.

#include "kernels/cuda/intrinsics/fast_div.h"
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
      const uint32_t f = first_feature + x % args.feature_tile, place = x / args.feature_tile;
      const int32_t i = row + static_cast<int32_t>(place / w.reach),
                    j = column + static_cast<int32_t>(place % w.reach);
      const bool exists = f < args.features && i >= 0 && i < h.input && j >= 0 && j < w.input;
      under[x] = !exists ? 0
                         : LoadCommonElement<float>(args.input_type, args.input,
                                                    batch * args.input_batch +
                                                        args.multiplier.Quotient(f) * args.input_feature +
                                                        i * h.input_stride + j * w.input_stride);
    }
    env.sync();
    const uint32_t f = env.thread() % args.feature_tile, place = env.thread() / args.feature_tile,
                   feature = first_feature + f;
    const int32_t in_row = static_cast<int32_t>(place / w.tile),
                  in_column = static_cast<int32_t>(place % w.tile);
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

}  // namespace hlo::cuda
