#pragma once
// The interface of the module libhlo_run_mpi.so. The program loads it only if a launcher has started it, so
// other runs do not load the libraries of MPI.

#include <string>

#include "spmd/transport.h"

namespace hlo::mpi {

constexpr const char* kModuleFile = "libhlo_run_mpi.so";
constexpr const char* kModuleEntry = "hlo_run_connect_mpi";

// Connects to the other processes. Returns null with an error.
using ConnectFn = spmd::Transport* (*)(std::string* error);

}  // namespace hlo::mpi
