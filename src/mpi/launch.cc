#include "mpi/launch.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "fmt/format.h"
#include "mpi/module.h"

namespace hlo::mpi {
namespace {

// Variables that launchers set in the processes that they start: Open MPI, MPICH and its relatives, PMIx.
constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"};

}  // namespace

bool IsLaunched() {
  for (const char* variable : kVariables) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<spmd::Transport>> Connect() {
#ifdef HLO_RUN_HAS_MPI
  // Open MPI's components look for its symbols among the global ones.
  void* module = dlopen(kModuleFile, RTLD_NOW | RTLD_GLOBAL);
  const auto connect = module == nullptr ? nullptr : reinterpret_cast<ConnectFn>(dlsym(module, kModuleEntry));
  if (connect == nullptr)
    return absl::FailedPreconditionError(fmt::format("cannot load the module for MPI: {}", dlerror()));
  std::string error;
  std::unique_ptr<spmd::Transport> transport(connect(&error));
  if (transport == nullptr) return absl::FailedPreconditionError(error);
  for (const char* variable : kVariables) unsetenv(variable);
  return transport;
#else
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* text = std::getenv(variable);
    if (text == nullptr || std::atoi(text) <= 1) continue;
    return absl::FailedPreconditionError(fmt::format(
        "a launcher has started {} processes, but this hlo-run was built without MPI (HLO_RUN_MPI)", text));
  }
  return nullptr;
#endif
}

}  // namespace hlo::mpi
