#pragma once
// Finds where an instruction came from in the user's program.

#include <string>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::debug {

// A line of the user's program; `function` may be empty.
struct ProgramPlace {
  std::string file, function;
  int32_t line = 0;
};
// Returns the places of an instruction's metadata, innermost first: its stack frames, or its source line.
// Empty if it has neither.
std::vector<ProgramPlace> ProgramPlaces(const Instruction& instruction);
// Returns `file:line` of the innermost place; "" if there is none.
std::string SourceLine(const Instruction& instruction);

}  // namespace hlo::debug
