#pragma once
// Explains an instruction in plain words.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// Returns what the opcode computes, with the names of the operands.
std::string OpcodeWords(const Instruction& instruction);
// Returns some lines: what the instruction computes, its attributes and shapes, where it came from in the
// user's program, its cost, and the step of the fast engine's plan that runs it.
std::string ExplainInstruction(const CheckedModule& module, const Instruction& instruction);

}  // namespace hlo::debug
