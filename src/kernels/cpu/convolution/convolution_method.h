#pragma once
// This file selects the algorithm of a convolution by its sizes, strides and types.

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/convolution/direct_convolution.h"
#include "kernels/cpu/convolution/im2col.h"
#include "kernels/cpu/convolution/integer_pairs.h"

namespace hlo::cpu {

// Returns Unimplemented if positions in windows could overflow 64 bits.
absl::Status CheckReach(const DenseArray& input, const ConvolutionDims& dims);

ConvolutionLayout ConvolutionLayoutOf(const DenseArray& input, const DenseArray& kernel,
                                      const ConvolutionDims& dims, absl::Span<const int64_t> out_dims);

// True if windows contain padding or dilation holes.
bool HasPadding(const ConvolutionLayout& c);

// True if products of AMX tiles are available and faster than other methods.
bool ConvolvesByAmx(const ConvolutionLayout& c, const DenseArray& input, const DenseArray& kernel,
                    ElementType compute);

struct MethodChoice {
  ConvolutionMethod method;
  // One of them is present for kDirect.
  std::optional<DirectConvolution> direct = std::nullopt;
  std::optional<IntegerPairConvolution> pairs = std::nullopt;
};
// Returns the method for operands of any values, which excludes products of AMX tiles.
MethodChoice ChooseByVectors(const ConvolutionLayout& c, const DenseArray& input, const DenseArray& kernel,
                             const ConvolutionDims& dims, ElementType compute);

// The dimensions of the output before its features in memory, and those after.
struct OutputDims {
  absl::InlinedVector<PatchDim, 4> before, after;
};
OutputDims OutputDimsOf(const ConvolutionLayout& c, const DimLabels& labels);
// Returns the product of the sizes.
int64_t PositionCount(absl::Span<const PatchDim> dims);

// True if patches would be gathered element by element because neither features nor adjacent output positions
// are contiguous in the input, as in gradients of kernels. A transposed copy with features last then costs
// less than the gathers.
bool IsFasterWithFeaturesLast(const ConvolutionLayout& c, const OutputDims& dims);

}  // namespace hlo::cpu
