#pragma once
// This file implements depthwise convolutions with features last that have too few features to fill a vector.

#include "kernels/cpu/convolution/im2col.h"

namespace hlo::cpu {

// Returns true if a depthwise convolution is faster along rows of a copy than along features, in vectors of
// `lanes` elements.
bool TransposesRows(const ConvolutionLayout& c, int64_t lanes);

// Returns the bytes of the copies. Sums have `element_size` bytes, the elements of the result `width`.
int64_t TransposedRowsMemory(const ConvolutionLayout& c, int64_t element_size, int64_t width);

// Transposes the input, calls DepthwiseRows (depthwise.h), and transposes the result.
template <class T>
void TransposedRows(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                    int64_t width, void* out);

}  // namespace hlo::cpu
