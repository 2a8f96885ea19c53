#pragma once
// Expands library calls into HLO instructions.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Returns a module that computes the call's first result: a GEMM of cuBLAS or a convolution of cuDNN with its
// scaling, bias and activation. It computes in f32, or in f64 if an operand or the result is f64. Returns
// nullopt if only the reference implements the call.
std::optional<CheckedModule> ExpandLibraryCall(const Instruction& call);

}  // namespace hlo::plan
