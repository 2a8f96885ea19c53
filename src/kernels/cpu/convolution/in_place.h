#pragma once
// This file implements convolutions whose patches would be packed for few products each. Micro-kernels read
// the kernel and the input in place, or copies of them with padding along one dimension. Base dilations are
// split into phases, which skip the zeros between elements.

#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/convolution/im2col.h"

namespace hlo::cpu {

// The result of a convolution, whose sums `narrow` rounds to elements of `width` bytes.
struct RoundedResult {
  void* data = nullptr;  // If it is nullptr, only the epilogue sees the result.
  int64_t width = 0;
  NarrowRow<float> narrow = nullptr;
  BlockFunction epilogue = {};
};

// Returns true if ConvolveInPlace supports the layout and is faster than a product of packed panels.
bool FitsInPlace(const ConvolutionLayout& c);

// Returns the rows of the blocks that the epilogue gets. Returns zeros if an epilogue is not supported; the
// result is then stored.
ProductRows InPlaceRows(const ConvolutionLayout& c);

// Returns an upper bound for the bytes that ConvolveInPlace allocates for results of `width` bytes.
int64_t InPlaceMemory(const ConvolutionLayout& c, int64_t width, bool keeps_result);

// Convolves with a finite kernel. Sums are f32, and the order of their terms depends on the sizes alone.
void ConvolveInPlace(const float* input, const float* kernel, const ConvolutionLayout& c,
                     const RoundedResult& result);

}  // namespace hlo::cpu
