#pragma once
// The dimensions of a convolution, their strides in its three arrays, and the taps that outputs use.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/arithmetic.h"
#include "hlo_run/module.h"
#include "loops/window_phase.h"

namespace hlo::cuda {

// Upper bound of products; beyond it, one product tests the bounds of each tap.
inline constexpr int64_t kMaxProducts = 64;
inline constexpr int64_t kMaxConvolutionCoordinate = 1 << 30;  // Sums of two coordinates fit into 32 bits.

// One spatial dimension: sizes, and element strides in input, kernel and output.
struct Spatial {
  int64_t input, output, taps;
  int64_t stride, padding, window_dilation, base_dilation;
  int64_t input_stride, kernel_stride, output_stride;  // kernel_stride < 0: reversed.
};

// A part of a spatial dimension's outputs and the taps that contribute to them, whose input elements are
// counted in units of 1 / spread.
struct Part : loops::WindowPhase {
  int64_t spread = 1;

  bool IsInside(int64_t input) const {
    const int64_t last = origin + (outputs - 1) * step + (taps - 1) * tap_move;
    return spread == 1 && origin >= 0 && last < input;
  }
  bool IsCountable() const {
    const int64_t reach[] = {origin, step, tap_move, origin + (outputs - 1) * step + (taps - 1) * tap_move};
    return std::all_of(std::begin(reach), std::end(reach),
                       [](int64_t x) { return std::abs(x) < kMaxConvolutionCoordinate; });
  }
};

Part Whole(const Spatial& s);

inline int64_t Ceil(int64_t a, int64_t b) { return a <= 0 ? 0 : CeilDiv(a, b); }

// Splits a dimension into the phases of its base dilation.
std::vector<Part> PhaseParts(const Spatial& s);

// Splits the outputs into runs that use the same taps, all inside the input, so that no tap needs a bounds
// test. Stops after kMaxProducts parts; the caller then rejects the split.
std::vector<Part> InsideParts(const Spatial& s);

// Sizes, strides and types that all parts share.
struct ConvolutionLayout {
  std::vector<Spatial> spatial;
  int64_t batch, input_batch_stride, output_batch_stride;        // Batch size of the output and strides.
  int64_t inputs, input_feature_stride, kernel_input_stride;     // Input features per group.
  int64_t outputs, kernel_output_stride, output_feature_stride;  // Output features per group.
  int64_t groups, input_group_stride, kernel_group_stride, output_group_stride;
  int64_t kernel_origin = 0;
  bool features_last = true;
  bool batch_last = false;  // Rows are positions, then the batch, which is contiguous: a filter gradient.
  ElementType input_type, kernel_type, output_type;
};

ConvolutionLayout LayoutOf(const Instruction& convolution);

}  // namespace hlo::cuda
