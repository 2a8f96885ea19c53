#pragma once
// Copies for convolutions of few channels or few outputs: inputs with padded columns and channels, and
// filters with their taps in another order.

#include "kernels/cuda/gemm/gemm_args.h"
#include "kernels/cuda/intrinsics/fast_div.h"

namespace hlo::cuda {

// Copies images to [image, row, column, pitch]; column x of the copy is column x - padding of the input.
// Columns and channels beyond the input are zeros.
struct PackPixelsArgs {
  const void* from = nullptr;
  void* to = nullptr;
  uint32_t count = 0;     // Pixels of the copy.
  FastDiv columns, rows;  // Columns and rows of an image of the copy.
  int32_t padding = 0, input_columns = 0;
  uint32_t channels = 1;
  int64_t image_stride = 0, row_stride = 0, column_stride = 0, channel_stride = 0;
};

// A thread copies a pixel of kPitch channels.
template <class Word, int kPitch>
struct PackPixels {
  using Args = PackPixelsArgs;
  static constexpr uint32_t kThreads = 256;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t pixel = env.block().x * kThreads + env.thread();
    if (pixel >= args.count) return;
    const uint32_t line = args.columns.Quotient(pixel), image = args.rows.Quotient(line);
    const int32_t column = static_cast<int32_t>(pixel - line * args.columns.divisor) - args.padding;
    const bool exists = column >= 0 && column < args.input_columns;
    const Word* from = static_cast<const Word*>(args.from) + image * args.image_stride +
                       (line - image * args.rows.divisor) * args.row_stride + column * args.column_stride;
    Pixel to;
    HLO_UNROLL
    for (uint32_t c = 0; c < kPitch; ++c)
      to.x[c] = exists && c < args.channels ? from[c * args.channel_stride] : Word{};
    static_cast<Pixel*>(args.to)[pixel] = to;
  }

 private:
  static constexpr size_t kBytes = sizeof(Word) * kPitch;
  struct alignas(kBytes < 16 ? kBytes : 16) Pixel {
    Word x[kPitch];
  };
};

// Copies a filter to [phase row, phase column, output, tap row, tap column, pitch]. Each phase has its own
// taps.
struct PackTapsArgs {
  static constexpr int kMaxPhases = 8, kMaxTaps = 32;
  const void* from = nullptr;
  void* to = nullptr;
  uint32_t count = 0;                              // Elements of the copy.
  FastDiv pitch, taps[2], outputs, phase_columns;  // Taps of columns and rows.
  uint32_t channels = 1;                           // Beyond them are zeros.
  int8_t tap_of[2][kMaxPhases][kMaxTaps] = {};     // The filter's tap; negative: zeros.
  int64_t origin = 0, tap_stride[2] = {}, output_stride = 0, channel_stride = 0;
};

template <class Word>
struct PackTaps {
  using Args = PackTapsArgs;
  static constexpr uint32_t kThreads = 256;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t x = env.block().x * kThreads + env.thread();
    if (x >= args.count) return;
    uint32_t rest = x;
    const auto digit = [&](const FastDiv& size) {
      const uint32_t quotient = size.Quotient(rest), value = rest - quotient * size.divisor;
      rest = quotient;
      return value;
    };
    const uint32_t channel = digit(args.pitch), tap_column = digit(args.taps[0]),
                   tap_row = digit(args.taps[1]), output = digit(args.outputs),
                   phase_column = digit(args.phase_columns), phase_row = rest;
    const int8_t column = args.tap_of[0][phase_column][tap_column], row = args.tap_of[1][phase_row][tap_row];
    const bool exists = channel < args.channels && column >= 0 && row >= 0;
    const int64_t offset = args.origin + output * args.output_stride + channel * args.channel_stride +
                           column * args.tap_stride[0] + row * args.tap_stride[1];
    static_cast<Word*>(args.to)[x] = exists ? static_cast<const Word*>(args.from)[offset] : Word{};
  }
};

using PackPixelsHalf4 = PackPixels<uint16_t, 4>;
using PackPixelsHalf8 = PackPixels<uint16_t, 8>;
using PackPixelsWord4 = PackPixels<uint32_t, 4>;
using PackPixelsWord8 = PackPixels<uint32_t, 8>;
using PackTapsHalf = PackTaps<uint16_t>;
using PackTapsWord = PackTaps<uint32_t>;

}  // namespace hlo::cuda
