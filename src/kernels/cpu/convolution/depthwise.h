#pragma once
// Convolutions that are no matrix product: one input feature an output feature, along rows or along features;
// and the plain loop over taps, for kernels with infinities or NaN, which zeros on padding would spread.

#include "kernels/cpu/convolution/im2col.h"

namespace hlo::cpu {

// Whether the rows of DepthwiseRows, widened to hold padding and dilation, are in proportion to what they
// hold.
bool DepthwiseRowFits(const ConvolutionLayout& c);

// Sums are computed in T; `narrow` rounds them to the elements of `out`, of `width` bytes. The kernel is
// finite. Rows: input and output are neighbours along the last spatial dimension.
template <class T>
void DepthwiseRows(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                   int64_t width, void* out);
// Inner: input and output are neighbours along their features.
template <class T>
void DepthwiseInner(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                    int64_t width, void* out);
// Any convolution, and T also complex.
template <class T>
void DirectConvolution(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                       int64_t width, void* out);

}  // namespace hlo::cpu
