#pragma once
// This file implements direct convolutions of small integers. Two neighbouring input features form one
// element of 32 bits, and an instruction adds the products of two pairs.

#include <optional>

#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/convolution/direct_convolution.h"
#include "kernels/cpu/convolution/im2col.h"

namespace hlo::cpu {

class IntegerPairConvolution {
 public:
  // Returns nullopt unless the operands fit halves (FitsPairs), the input features are contiguous and even in
  // number, and the pairs can be convolved directly. `layout` is that of the operands.
  static std::optional<IntegerPairConvolution> Make(const ConvolutionLayout& layout, const DenseArray& input,
                                                    const DenseArray& kernel);

  // Return the rows and the bytes of DirectConvolution; copies of the operands included.
  ProductRows rows() const { return direct_.rows(); }
  int64_t Memory(int64_t width, bool keeps_result) const;
  // Stores the result unless an epilogue is supported.
  void Run(const RoundedResult<uint32_t>& result) const;

 private:
  IntegerPairConvolution(const ConvolutionLayout& layout, const DenseArray& input, const DenseArray& kernel,
                         DirectConvolution direct)
      : layout_(layout), input_(input), kernel_(kernel), direct_(std::move(direct)) {}

  ConvolutionLayout layout_;  // Of the operands.
  DenseArray input_, kernel_;
  DirectConvolution direct_;  // Of the pairs.
};

}  // namespace hlo::cpu
