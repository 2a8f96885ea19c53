#pragma once
// This file implements convolution with all its attributes (semantics 6.4).

#include <string_view>

#include "absl/status/status.h"
#include "hlo_run/attribute.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"

namespace hlo::cpu {

struct ConvolutionDims {
  Window window;  // One entry per spatial dimension.
  const DimLabels* labels;
  int64_t feature_groups = 1, batch_groups = 1;
};

// The algorithm of a convolution.
enum class ConvolutionMethod {
  kProduct,         // A matrix product whose panels are packed from patches of the input.
  kAmxProduct,      // The same with panels of AMX tiles.
  kDirect,          // Micro-kernels that read the input in place, without im2col (direct_convolution.h).
  kDepthwiseRows,   // One input feature per output feature, vectorised along the last spatial dimension.
  kGroupsInner,     // Groups of few features, vectorised along all features.
  kTransposedRows,  // kDepthwiseRows on a transposed copy of the input.
  kNaive,           // A loop over elements that skips taps outside the input.
};
std::string_view Word(ConvolutionMethod method);

// Computes the convolution of a shape-checked input and kernel, for types that GemmSupports accepts. `out` is
// dense and does not overlap the operands; if it is nullptr, only the epilogue sees the result. Padding is
// excluded from sums even if the kernel holds infinities or NaN.
absl::Status Convolution(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                         void* out, ElementType out_type, absl::Span<const int64_t> out_dims,
                         const BlockFunction& epilogue = {});

// Returns the algorithm that Convolution chooses for a finite kernel. bf16 operands with tiny numbers use
// another one than kAmxProduct.
ConvolutionMethod MethodOf(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                           ElementType out_type, absl::Span<const int64_t> out_dims);

// The rows of the product that computes a convolution: their stride in the result, the number of columns per
// product, and the number of terms per sum. All are 0 if no product is used.
struct ProductRows {
  int64_t stride = 0, columns = 0, depth = 0;
};
ProductRows ProductRowsOf(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                          ElementType out_type, absl::Span<const int64_t> out_dims);

// Returns an upper bound for the bytes that Convolution allocates during a call, besides panels cached by
// threads. `keeps_result` is true if `out` is not nullptr.
int64_t ConvolutionMemory(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                          ElementType out_type, absl::Span<const int64_t> out_dims, bool keeps_result);

}  // namespace hlo::cpu
