#pragma once
// The facts on which the members of a group must agree when they meet (spmd 4.2).

#include <string>

#include "hlo_run/module.h"
#include "spmd/collectives.h"

namespace hlo::spmd {

// Returns opcode, shapes, dimension and reducer of a collective as text, such as
// `all-reduce(f32[2]) by add(f32[], f32[])`.
std::string SignatureOf(const Instruction& collective, const Values& operands);

// True if two permutes may exchange values by order of arrival: they have the same kind and shapes.
bool ArePairable(const Instruction& sender, const Instruction& receiver);

}  // namespace hlo::spmd
