#pragma once
// One instruction against its shape rule: for those who make instructions one by one.

#include "hlo_run/check.h"

namespace hlo::check {

// Reports what is wrong with the operands, attributes and declared shape of an instruction.
void CheckInstruction(const Instruction& instruction, Diagnostics& diagnostics, const CheckOptions& options);

}  // namespace hlo::check
