#pragma once
// Shape checks that dot and convolution have in common.

#include <string_view>

#include "check/rules.h"

namespace hlo::check {

// Returns the declared element type, which is the accumulation type, or the higher operand type if there is
// none.
ElementType ContractionType(RuleContext& context);

// Checks the operands after the first two, to which sparsity_config and block_scaling_config refer.
bool CheckExtraOperands(RuleContext& context, std::string_view rule);

}  // namespace hlo::check
