#pragma once
// The polyphase decomposition of convolutions along a dimension with base dilation: every P-th output reads
// elements between which the same taps fall onto the zeros of the dilation.

#include <cstdint>

namespace hlo::loops {

// A spatial dimension of a convolution. Strides and dilations are positive.
struct ConvolutionDim {
  int64_t outputs, taps;
  int64_t stride, padding, window_dilation, base_dilation;
};

// Some outputs of a dimension and the taps that contribute to them. Output first_output + q * output_step and
// tap first_tap + s * tap_step read input element origin + q * step + s * tap_move.
struct WindowPhase {
  int64_t outputs, first_output, output_step;
  int64_t taps = 0, first_tap = 0, tap_step;  // Without taps, all products are zero.
  int64_t origin = 0, step, tap_move;
};

// Returns the distance of outputs of the same phase, which is the number of phases if there are as many
// outputs.
int64_t PhasePeriod(int64_t stride, int64_t base_dilation);

// Returns the phase of outputs first, first + PhasePeriod(), ...; first is less than the period.
WindowPhase PhaseOf(const ConvolutionDim& dim, int64_t first);

}  // namespace hlo::loops
