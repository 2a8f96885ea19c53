#pragma once
// Rewrites reductions of small windows to elementwise operations on shifted slices.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Returns a module of the operand and the initial value that pads the operand with neutral elements and
// combines one strided slice for each element of a window. It replaces reductions of a few elements each.
std::optional<CheckedModule> UnrollWindows(const Instruction& reduce_window);

}  // namespace hlo::plan
