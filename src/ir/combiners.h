#pragma once
// Combiners: the computations (to_apply) that fold two values in reductions, scatters and collectives.

#include "hlo_run/module.h"

namespace hlo {

// True if an instruction, the root of a combiner, has two operands, which are different parameters.
bool IsOnTwoParameters(const Instruction& root);

}  // namespace hlo
