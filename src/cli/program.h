#pragma once
// The hlo-run command: `hlo-run FILE` means `hlo-run run FILE`.

namespace hlo::cli {

// Parses the command line, runs its subcommand and returns the exit status.
int RunProgram(int argc, char** argv);

}  // namespace hlo::cli
