#pragma once
// Selects the instruction set of the kernels.
//
// A program that is compiled for the processor of the build machine (HLO_RUN_NATIVE=ON) has one instruction
// set. A portable program for x86-64 contains its kernels for several levels of the architecture and selects
// the best level that the processor supports, or the one that the environment variable HLO_RUN_ISA names.
// Both kinds exit at once, with a message and status 2, if the processor lacks an extension that the compiler
// may have used.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hlo {

// Returns an error if the environment variable HLO_RUN_ISA names an instruction set that the program or the
// processor does not have.
absl::Status IsaStatus();

// Returns the selected level, such as "x86-64-v3"; "native"; or the name of the architecture if the program
// has no levels.
std::string_view IsaName();

// Returns the values of HLO_RUN_ISA that this machine supports, the best one first.
std::vector<std::string> IsaNames();

// Selects one of IsaNames(), for tests that compare levels. Existing plans keep their level. Returns an error
// for other names. No other thread may run a module at the same time.
absl::Status ChooseIsa(std::string_view name);

}  // namespace hlo
