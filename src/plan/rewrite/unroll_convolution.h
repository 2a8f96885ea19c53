#pragma once
// Rewrites convolutions with a few products for each result to elementwise operations on shifted slices.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Returns a module of the two operands of a convolution that adds the products of one slice of the padded
// input and one of the kernel for each term. It replaces depthwise convolutions, those with one output
// feature, and tiny ones. With `kernel_is_finite`, the padding needs no mask: its products are 0.
std::optional<CheckedModule> UnrollConvolution(const Instruction& convolution, bool kernel_is_finite);

}  // namespace hlo::plan
