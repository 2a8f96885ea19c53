#pragma once
// This file implements convolutions whose patches would be packed for few products each. Micro-kernels read
// the kernel and the input in place, or copies of them with padding along one dimension. Base dilations are
// split into phases, which skip the zeros between elements.

#include <optional>

#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/convolution/in_place_mapping.h"

namespace hlo::cpu {

// The result of a convolution, whose sums `narrow` rounds to elements of `width` bytes.
struct RoundedResult {
  void* data = nullptr;  // If it is nullptr, only the epilogue sees the result.
  int64_t width = 0;
  NarrowRow<float> narrow = nullptr;
  BlockFunction epilogue = {};
};

// A convolution in place, as the phases of its base dilations; without base dilation there is one.
class InPlaceConvolution {
 public:
  // Returns nullopt if the layout is not supported, or if a product of packed panels is faster.
  static std::optional<InPlaceConvolution> Make(const ConvolutionLayout& c);

  // Returns the rows of the blocks that the epilogue gets; zeros if an epilogue is not supported.
  ProductRows rows() const;
  bool SupportsEpilogue() const { return rows().columns > 0; }
  // Returns an upper bound for the bytes that are allocated for results of `width` bytes.
  int64_t Memory(int64_t width, bool keeps_result) const;
  // Convolves with a finite kernel. Sums are f32, and the order of their terms depends on the sizes alone.
  // The result is stored unless an epilogue is supported.
  void Run(const float* input, const float* kernel, const RoundedResult& result) const;

 private:
  CachedVector<Phase> phases_;
  int64_t count_ = 0;          // Elements of the result.
  bool is_one_phase_ = false;  // One phase has all outputs.
};

}  // namespace hlo::cpu
