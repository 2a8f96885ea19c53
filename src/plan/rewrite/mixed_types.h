#pragma once
// Rewrites instructions of mixed precision.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites a data movement, reduction, sort or topk for which MixesTypes is true as a module that converts
// the operands, applies the instruction without mixed types, and converts the results. Returns nullopt for
// other instructions.
std::optional<CheckedModule> SeparateTypes(const Instruction& instruction);

}  // namespace hlo::plan
