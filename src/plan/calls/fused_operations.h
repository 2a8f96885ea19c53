#pragma once
// The operations that oneDNN fuses into a product or convolution.

#include "plan/calls/call_builder.h"
#include "reference/custom/options.h"

namespace hlo::plan::calls {

// Applies them in order; their operands start at the third.
Op Fused(const CallBuilder& b, const reference::custom::Options& config, int64_t feature, Op x);

}  // namespace hlo::plan::calls
