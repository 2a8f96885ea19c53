#include "cli/mpi_launch.h"

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "exec/process_jobs.h"
#include "fmt/format.h"
#include "hlo_run/version.h"
#include "mpi/launch.h"

namespace hlo::cli {
namespace {

// MPI connects a process once, so there is one for the whole program.
std::unique_ptr<spmd::ProcessGroup> launched_processes;

}  // namespace

spmd::ProcessGroup* LaunchedProcesses() { return launched_processes.get(); }

int RunLaunched(int argc, char** argv, int (*run)(int argc, char** argv)) {
  absl::StatusOr<std::unique_ptr<spmd::Transport>> transport = mpi::Connect();
  if (!transport.ok()) {
    fmt::print(stderr, "hlo-run: error: {}\n", Message(transport.status()));
    return 2;
  }
  if (*transport == nullptr) return run(argc, argv);
  launched_processes = std::make_unique<spmd::ProcessGroup>(*std::move(transport));
  const BuildInfo& build = GetBuildInfo();
  const absl::Status introduced =
      launched_processes->CheckSameProgram(fmt::format("{} ({}, {})", build.version, build.commit, build.isa),
                                           std::vector<std::string>(argv + 1, argv + argc));
  int exit_status = 0;
  if (!introduced.ok()) {
    fmt::print(stderr, "hlo-run: error: {}\n", Message(introduced));
    exit_status = 2;
  } else if (launched_processes->rank() != 0) {
    exec::ServeRuns(*launched_processes);
  } else {
    exit_status = run(argc, argv);
  }
  launched_processes.reset();  // Waits until all processes have reached this call.
  return exit_status;
}

}  // namespace hlo::cli
