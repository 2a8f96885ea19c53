#pragma once
// What dot and convolution share.

#include <string_view>

#include "check/rules.h"

namespace hlo::check {

// The declared element type, which is how to accumulate; without one the higher of the two.
ElementType ContractionType(RuleContext& context);

// Operands beyond two hold what sparsity_config and block_scaling_config refer to.
bool CheckExtraOperands(RuleContext& context, std::string_view rule);

}  // namespace hlo::check
