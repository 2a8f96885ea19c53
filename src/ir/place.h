#pragma once
// Names of instructions in messages about runs.

#include <string>

#include "hlo_run/module.h"

namespace hlo {

// Returns `m.hlo:4:12: `, or "" if the location is unknown.
std::string PlaceOf(const Instruction& instruction);
// Returns `'r' (f32[2] add)`.
std::string Describe(const Instruction& instruction);

}  // namespace hlo
