#pragma once
// convolution with all its attributes (semantics 6.4).

#include <string_view>

#include "absl/status/status.h"
#include "hlo_run/attribute.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"

namespace hlo::cpu {

struct ConvolutionDims {
  Window window;  // One entry for each spatial dimension.
  const DimLabels* labels;
  int64_t feature_groups = 1, batch_groups = 1;
};

// How a convolution is carried out.
enum class ConvolutionMethod {
  kProduct,         // A matrix product whose panels are packed from the patches of the input.
  kDepthwiseRows,   // One input feature an output feature, along a row of the last spatial dimension.
  kDepthwiseInner,  // The same, along the features.
  kDirect,          // One element after the other, from taps that lie inside the input alone.
};
std::string_view Word(ConvolutionMethod method);

// out = the convolution of input and kernel, which the checker has found to fit together; types as in
// GemmSupports, out dense and apart from the operands. Where a kernel holds infinities or NaN, what lies on
// padding is still left out of the sums. Where out is nullptr, only the epilogue sees the result.
absl::Status Convolution(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                         void* out, ElementType out_type, absl::Span<const int64_t> out_dims,
                         const BlockFunction& epilogue = {});

// The method that Convolution takes for a finite kernel.
ConvolutionMethod MethodOf(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                           ElementType out_type, absl::Span<const int64_t> out_dims);

// The rows of the product that a convolution is carried out as: their elements in the result, how many of
// them one product computes, and of how many terms each is the sum. Zeros where it is no product.
struct ProductRows {
  int64_t stride = 0, columns = 0, depth = 0;
};
ProductRows ProductRowsOf(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                          ElementType out_type, absl::Span<const int64_t> out_dims);

// Bytes that Convolution takes for the time of a call, at most, besides panels that threads keep;
// `keeps_result`: out is not nullptr.
int64_t ConvolutionMemory(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                          ElementType out_type, absl::Span<const int64_t> out_dims, bool keeps_result);

}  // namespace hlo::cpu
