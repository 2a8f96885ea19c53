#pragma once
// The operations that oneDNN fuses into a product or convolution, in order.

#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/literal.h"
#include "reference/contraction.h"
#include "reference/custom/options.h"
#include "reference/op.h"

namespace hlo::reference::custom {

// Returns why they cannot follow a result of these sizes; "" if they can. Their operands start at the third,
// and vectors extend along dimension `feature`.
std::string FusedMismatch(const Instruction& call, const Options& config, absl::Span<const int64_t> dims,
                          int64_t feature);
std::vector<std::string> FusedOps(const Options& config);
bool TakesOperand(std::string_view op);
// Returns the factor of LINEAR, which may be given as the bits of an f32.
double Alpha(const Options& config);
absl::Status ApplyFused(const OpContext& context, const Options& config, int64_t feature, Literal& wide);

// Returns the options of __onednn$matmul, and the dimension numbers of its operands.
Options MatmulOptions(const Instruction& call);
struct MatmulForm {
  DotDims l, r;
};
MatmulForm MatmulFormOf(const Instruction& call);

}  // namespace hlo::reference::custom
