#pragma once
// Implicit GEMM of convolutions whose patches TMA copies in im2col mode: the coordinates of the boxes of a
// stage. The terms of a forward convolution are the window's taps times blocks of 64 channels; channels
// beyond the last are zeros. Its patches are K-major. In a filter gradient the terms are pixels, and the rows
// of the patches are taps times blocks of 64 channels.

#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/hopper.h"

namespace hlo::cuda {

// Contiguous rows of an operand are copied in slabs of 64, or fewer if the tile is narrower. A slab holds 128
// bytes of terms for each of them.
struct TmaSlab {
  static constexpr uint32_t kWidth = 64, kBytesPerRow = 128;
};

// Arrays of two elements hold a number for columns and one for rows.
struct Im2colArgs {
  enum class Mode : uint8_t { kNone, kForward, kFilterGradient };
  Mode mode = Mode::kNone;
  bool patches_are_b = false;
  FastDiv pixel_columns, pixel_rows;  // Pixels of an image.
  int32_t origin[2] = {}, pixel_step[2] = {1, 1};
  FastDiv tap_columns;     // Taps in a row of the window.
  FastDiv channel_blocks;  // Blocks of a tap.
  uint32_t tap_step[2] = {1, 1};
  uint32_t block = 64;  // Channels per block.
  uint32_t channels = 0, taps = 1;
  // The elements per pixel, and how many of them exist (0: all), in a filter gradient whose channels are a
  // row of the window.
  FastDiv pixel_pitch;
  uint32_t pixel_channels = 0;
  // The filter's coordinate of tap t is first + t * step.
  int32_t filter_first[2] = {}, filter_step[2] = {1, 1};
};

// A block of channels of a tap.
struct TapBlock {
  uint32_t channel = 0, tap = 0, tap_column = 0, tap_row = 0;
};

HLO_DEVICE PixelIndex PixelAt(const Im2colArgs& args, uint32_t pixel) {
  const uint32_t line = args.pixel_columns.Quotient(pixel), image = args.pixel_rows.Quotient(line);
  const auto column = static_cast<int32_t>(pixel - line * args.pixel_columns.divisor),
             row = static_cast<int32_t>(line - image * args.pixel_rows.divisor);
  return {args.origin[0] + column * args.pixel_step[0], args.origin[1] + row * args.pixel_step[1],
          static_cast<int>(image)};
}

HLO_DEVICE TapBlock TapBlockAt(const Im2colArgs& args, uint32_t block) {
  TapBlock result;
  result.tap = args.channel_blocks.Quotient(block);
  result.channel = (block - result.tap * args.channel_blocks.divisor) * args.block;
  result.tap_row = args.tap_columns.Quotient(result.tap);
  result.tap_column = result.tap - result.tap_row * args.tap_columns.divisor;
  return result;
}

// Replaces the index of a row of blocks of channels by the index without the channels that are zeros. Returns
// false if it is one of those.
HLO_DEVICE bool FindTapChannel(const Im2colArgs& args, uint32_t* index) {
  const uint32_t number = *index / TmaSlab::kWidth;
  const TapBlock block = TapBlockAt(args, number);
  const uint32_t channel = block.channel + *index - number * TmaSlab::kWidth;
  const bool exists = channel < args.channels && block.tap < args.taps;
  *index = block.tap * args.channels + channel;
  if (args.pixel_channels == 0) return exists;
  const uint32_t pixel = args.pixel_pitch.Quotient(*index),
                 in_pixel = *index - pixel * args.pixel_pitch.divisor;
  *index = pixel * args.pixel_channels + in_pixel;
  return exists && in_pixel < args.pixel_channels;
}

// Copies box[1] pixels of the block's channels for its tap.
template <class Env>
HLO_DEVICE void CopyPatches(Env& env, std::byte* to, const TensorMap& map, const Im2colArgs& args,
                            const TapBlock& block, const PixelIndex& first, uint64_t* barrier) {
  CopyPixels(env, to, map, static_cast<int>(block.channel), first, block.tap_column * args.tap_step[0],
             block.tap_row * args.tap_step[1], barrier);
}

// Copies the filter's elements of `width` outputs from `output` on. kRows: outputs are contiguous, in slabs
// of 64.
template <bool kRows, class Env>
HLO_DEVICE void CopyFilter(Env& env, std::byte* to, const TensorMap& map, const Im2colArgs& args,
                           const TapBlock& block, uint32_t output, uint32_t width, uint64_t* barrier) {
  const int channel = static_cast<int>(block.channel), first = static_cast<int>(output);
  const int column = args.filter_first[0] + static_cast<int>(block.tap_column) * args.filter_step[0],
            row = args.filter_first[1] + static_cast<int>(block.tap_row) * args.filter_step[1];
  if constexpr (kRows) {
    for (uint32_t slab = 0; slab < width; slab += TmaSlab::kWidth)
      CopyBox(env, to + slab * TmaSlab::kBytesPerRow, map, first + static_cast<int>(slab), channel, column,
              row, barrier);
  } else {
    CopyBox(env, to, map, channel, column, row, first, barrier);
  }
}

// Copies box[1] pixels of `width` channels of taps from index `first` on.
template <class Env>
HLO_DEVICE void CopyTapRows(Env& env, std::byte* to, const TensorMap& map, const Im2colArgs& args,
                            uint32_t first, uint32_t width, const PixelIndex& pixel, uint64_t* barrier) {
  for (uint32_t slab = 0; slab < width; slab += TmaSlab::kWidth) {
    TapBlock block = TapBlockAt(args, (first + slab) / TmaSlab::kWidth);
    if (block.tap >= args.taps) block = {.channel = args.channels};  // Out of bounds: zeros.
    CopyPatches(env, to + slab * TmaSlab::kBytesPerRow, map, args, block, pixel, barrier);
  }
}

}  // namespace hlo::cuda
