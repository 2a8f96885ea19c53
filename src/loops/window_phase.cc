#include "loops/window_phase.h"

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"

namespace hlo::loops {

int64_t PhasePeriod(int64_t stride, int64_t base_dilation) {
  return base_dilation / std::gcd(stride, base_dilation);
}

WindowPhase PhaseOf(const ConvolutionDim& dim, int64_t first) {
  const int64_t dilation = dim.base_dilation;
  WindowPhase phase{.first_output = first,
                    .output_step = PhasePeriod(dim.stride, dilation),
                    .tap_step = PhasePeriod(dim.window_dilation, dilation)};
  phase.outputs = first < dim.outputs ? CeilDiv(dim.outputs - first, phase.output_step) : 0;
  phase.step = phase.output_step * dim.stride / dilation;
  phase.tap_move = phase.tap_step * dim.window_dilation / dilation;
  for (int64_t tap = 0; tap < std::min(phase.tap_step, dim.taps); ++tap) {
    const int64_t position = first * dim.stride - dim.padding + tap * dim.window_dilation;
    if (position % dilation != 0) continue;
    phase.first_tap = tap;
    phase.taps = CeilDiv(dim.taps - tap, phase.tap_step);
    phase.origin = position / dilation;
    break;
  }
  return phase;
}

}  // namespace hlo::loops
