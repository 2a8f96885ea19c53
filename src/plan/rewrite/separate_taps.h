#pragma once
// Rewrites transposed convolutions whose windows do not overlap, such as the gradient of an embedding of
// patches, to dots.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Returns a module of the two operands of a convolution that multiplies each position of the input by all
// taps of the kernel, and puts the products side by side. It replaces a convolution with a base dilation of
// at least the size of its window, whose sums have the terms of one tap each.
std::optional<CheckedModule> ReplaceSeparateTaps(const Instruction& convolution);

}  // namespace hlo::plan
