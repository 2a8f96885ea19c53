#pragma once
// The instruction set that the program runs with.
//
// A program that is compiled for the processor of the build machine (HLO_RUN_NATIVE=ON) has one. One for
// every processor of x86-64 has its kernels for several levels of the architecture and chooses the best that
// the processor has; the environment variable HLO_RUN_ISA names another. Either ends at once, with a message
// and exit status 2, where the processor lacks an extension that the compiler may have used.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hlo {

// Returns an error where the environment variable HLO_RUN_ISA names an instruction set that the program does
// not have or that the processor lacks.
absl::Status IsaStatus();

// Returns the level that runs, such as "x86-64-v3"; "native"; or the name of the architecture where the
// program is for all of its processors without levels.
std::string_view IsaName();

// Returns the names that HLO_RUN_ISA may have here, the best first.
std::vector<std::string> IsaNames();

// Makes one of IsaNames() the one that runs, for tests that compare them: plans that were made before keep
// theirs. Returns an error for other names. No other thread may run a module meanwhile.
absl::Status ChooseIsa(std::string_view name);

}  // namespace hlo
