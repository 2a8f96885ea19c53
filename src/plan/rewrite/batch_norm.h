#pragma once
// Expands batch normalisations.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites a batch-norm-training, -inference or -grad as a module of its operands that consists of
// elementwise operations and reductions (semantics 6.8). Sums, means and variances are computed in f64. So
// are the operations on whole arrays if an operand is f64; otherwise these are computed in f32.
std::optional<CheckedModule> ExpandBatchNorm(const Instruction& batch_norm);

}  // namespace hlo::plan
