#pragma once
// The operations that oneDNN fuses into a product or convolution, in order.

#include <string>

#include "hlo_run/literal.h"
#include "reference/custom/options.h"
#include "reference/op.h"

namespace hlo::reference::custom {

// Returns why they cannot follow a result of these sizes; "" if they can. Their operands start at the third,
// and vectors extend along dimension `feature`.
std::string FusedMismatch(const Instruction& call, const Options& config, absl::Span<const int64_t> dims,
                          int64_t feature);
absl::Status ApplyFused(const OpContext& context, const Options& config, int64_t feature, Literal& wide);

}  // namespace hlo::reference::custom
