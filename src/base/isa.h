#pragma once
// The instruction set that the program is compiled for.
//
// A program that is compiled for the processor of the build machine (HLO_RUN_NATIVE=ON) ends at once, with a
// message and exit status 2, where the processor lacks an extension that the compiler may have used.

#include <string_view>

#include "absl/status/status.h"

namespace hlo {

// Returns an error where the environment variable HLO_RUN_ISA names an instruction set that the program does
// not have.
absl::Status IsaStatus();

// Returns "native", or the name of the architecture where the program is for all of its processors.
std::string_view IsaName();

}  // namespace hlo
