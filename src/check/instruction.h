#pragma once
// Checks a single instruction against its shape rule, for builders.

#include "hlo_run/check.h"

namespace hlo::check {

// Reports errors in the operands, attributes and declared shape of an instruction.
void CheckInstruction(const Instruction& instruction, Diagnostics& diagnostics, const CheckOptions& options);

}  // namespace hlo::check
