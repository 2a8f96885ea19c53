#pragma once
// Determines whether a launcher of MPI started this process, and connects it with the others. Only
// mpi_transport.cc uses MPI itself.

#include <memory>

#include "absl/status/statusor.h"
#include "spmd/transport.h"

namespace hlo::mpi {

// True if a launcher such as mpirun started this process. This call does not initialise MPI.
bool IsLaunched();

// Connects the processes that the launcher started, once. Programs that this process starts are not part of
// them. Returns null if this process is alone and this build has no MPI. Errors: FailedPrecondition if the
// launcher starts several processes and this build has no MPI, or if MPI fails.
absl::StatusOr<std::unique_ptr<spmd::Transport>> Connect();

}  // namespace hlo::mpi
