#pragma once
// Runs the program in the processes that a launcher of MPI has started: process 0 runs the command, the
// others run devices for it.

#include "spmd/process_group.h"

namespace hlo::cli {

// The other processes; null if this one is alone.
spmd::ProcessGroup* LaunchedProcesses();

// Calls `run` in process 0 and returns its exit status. Other processes return 0 when it has ended.
int RunLaunched(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace hlo::cli
