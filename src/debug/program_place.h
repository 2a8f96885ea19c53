#pragma once
// Finds the location in the user's program from which an instruction originates.

#include <string>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::debug {

// A location in the user's program; `function` may be empty.
struct ProgramPlace {
  std::string file, function;
  int32_t line = 0;
};
// Returns the locations in an instruction's metadata, innermost first: its stack frames, or its source line.
// Empty if it has neither.
std::vector<ProgramPlace> ProgramPlaces(const Instruction& instruction);
// Returns `file:line` of the innermost location; "" if there is none.
std::string SourceLine(const Instruction& instruction);

}  // namespace hlo::debug
