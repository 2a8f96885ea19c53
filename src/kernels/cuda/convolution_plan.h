#pragma once
// convolution as products: rows are output positions, terms are taps of the window times input features,
// columns are output features. Nothing is copied; what lies on padding is missing along an axis.

#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cuda/pack_body.h"
#include "kernels/cuda/product.h"

namespace hlo::cuda {

struct ConvolutionProducts {
  // One, or where the input is dilated one for each class of output positions that see the same taps: each
  // writes its own part of the result.
  std::vector<Product> products;
  bool features_last = true;  // Whether terms run through taps, then features, or the other way round.
};

// nullopt: more dimensions, or larger numbers, than kernels take. Types are set, ways of access are not.
std::optional<ConvolutionProducts> ProductsOf(const Instruction& convolution);

// The same with both operands copied first: the input as [batch, spatial, feature], the kernel as [output
// feature, spatial, input feature], of `type`, with zeros behind the features up to a multiple of `run`.
// Terms are neighbours.
struct PackedConvolution {
  ConvolutionProducts products;
  PackArgs input, kernel;                     // Without their arrays.
  int64_t input_count = 0, kernel_count = 0;  // Elements of the copies.
};
// nullopt: as above; groups.
std::optional<PackedConvolution> PackedProductsOf(const Instruction& convolution, ElementType type,
                                                  PackedType packed, int64_t run);

}  // namespace hlo::cuda
