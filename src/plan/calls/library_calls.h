#pragma once
// Expands custom calls into HLO instructions.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Returns a module that computes the call's leading results; the others are scratch memory. Its bits are
// those of the call for data movement, integers and sorts. Floats are computed in f32, or in f64 if an
// operand or the first result is f64. Returns nullopt if only the reference implements the call. Calls for
// which the CPU has a kernel are expanded only if `for_gpu`.
std::optional<CheckedModule> ExpandLibraryCall(const Instruction& call, bool for_gpu);

}  // namespace hlo::plan
