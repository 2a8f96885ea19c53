#pragma once
// This file implements convolutions that are not matrix products. Depthwise ones and the
// gradients of their kernels are vectorised along rows or features. Kernels with infinities or NaN, whose
// products with zero padding would be NaN, take a plain loop over taps.

#include "kernels/cpu/convolution/im2col.h"

namespace hlo::cpu {

// Returns true if the padded and dilated rows of DepthwiseRows are not much longer than the input's rows.
bool DepthwiseRowFits(const ConvolutionLayout& c);

// Convolves along rows: input and output are contiguous along the last spatial dimension. Sums are computed
// in T, and `narrow` rounds them to the elements of `out`, of `width` bytes. The kernel is finite.
template <class T>
void DepthwiseRows(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                   int64_t width, void* out);
// Returns true if GroupsInner supports groups of several outputs: they have as many inputs, and vectors
// consist of whole groups.
bool PermutesGroups(const ConvolutionLayout& c, int64_t lanes);
// Convolves along features, which are contiguous in the output. Groups have one output each and are adjacent
// in the input, or the features are contiguous in the input and PermutesGroups holds.
template <class T>
void GroupsInner(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                 int64_t width, void* out);
// Computes any convolution, for real and complex T.
template <class T>
void NaiveConvolution(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                      int64_t width, void* out);

}  // namespace hlo::cpu
