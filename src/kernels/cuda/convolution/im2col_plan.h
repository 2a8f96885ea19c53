#pragma once
// Convolutions of 16-bit floats and f32 on Hopper whose patches are copied in im2col mode: forward
// convolutions and filter gradients. Input gradients are forward convolutions. The plan depends on types and
// shape only.

#include <array>
#include <optional>

#include "absl/types/span.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/mma_plan.h"

namespace hlo::cuda {

// A product of a convolution of contiguous channels, in elements. Pixel q of a dimension reads at tap t the
// input's coordinate origin + q * pixel_step + t * tap_step.
struct Im2colProblem {
  struct Dim {
    int64_t input = 1, input_stride = 0;
    int64_t pixels = 1, pixel_step = 1, origin = 0;
    int64_t taps = 1, tap_step = 1;
    // The stride of taps or, for a filter gradient, of pixels in the other operand. Negative: reversed.
    int64_t other_stride = 0;
  };
  // The other operand is the output's gradient; the rows of the patches are taps and channels.
  bool filter_gradient = false;
  std::array<Dim, 2> dims;  // Columns and rows.
  int64_t channels = 1, images = 1, image_stride = 0;
  int64_t other_origin = 0, other_output_stride = 0;
  // The stride of channels or, for a filter gradient, of images.
  int64_t other_stride = 0;
  // Operands that are packed: their offsets in the workspace.
  std::optional<int64_t> patches_offset = {}, other_offset = {};
  // The elements per pixel, and how many of them exist, in a filter gradient whose channels are a row of the
  // window.
  int64_t pixel_pitch = 1, pixel_channels = 0;
  bool always_searched = false;  // A search for non-finite values precedes the product.
};

// Append the steps of the product on tensor cores, or in f32. Return false, and append nothing, if the kernel
// does not support its shape. `alternatives` are the products that run instead if the search has found a
// non-finite value.
bool AddIm2colGemm(const Gemm& gemm, const Im2colProblem& problem, absl::Span<const Gemm> alternatives,
                   ElementType compute, const TensorForm& form, StepList* list);
bool AddIm2colF32Gemm(const Gemm& gemm, const Im2colProblem& problem, absl::Span<const Gemm> alternatives,
                      const device::DeviceProperties& device, StepList* list);

}  // namespace hlo::cuda
