#pragma once
// Implicit GEMM for convolutions: rows are output positions, terms are window taps times input features,
// columns are output features. Nothing is copied; padding is handled by bounds tests along an axis.

#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cuda/convolution/im2col_plan.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/pack_body.h"

namespace hlo::cuda {

struct ConvolutionGemms {
  // One product, or, with base dilation, one per phase of output positions, which use the same taps. Each
  // writes its own part of the result.
  std::vector<Gemm> gemms;
  // The same products as patches of contiguous channels, unless they are not.
  std::vector<std::optional<Im2colProblem>> im2col;
  // True if the terms iterate over taps, then features; otherwise features come first.
  bool features_last = true;
};

// Returns nullopt if dimensions or sizes exceed the limits of the kernels. Sets types, but not access modes.
std::optional<ConvolutionGemms> GemmsOf(const Instruction& convolution);

// The same with both operands packed first: the input as [batch, spatial, feature], the kernel as [output
// feature, spatial, input feature], of `type`, with features zero-padded to a multiple of `run`. Terms are
// contiguous.
struct PackedConvolution {
  ConvolutionGemms gemms;
  PackArgs input, kernel;                     // Array pointers are unset.
  int64_t input_count = 0, kernel_count = 0;  // Elements of the copies.
};
// Returns nullopt as above, and for grouped convolutions.
std::optional<PackedConvolution> PackedGemmsOf(const Instruction& convolution, ElementType type,
                                               PackedType packed, int64_t run);

}  // namespace hlo::cuda
