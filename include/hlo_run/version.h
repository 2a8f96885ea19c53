#pragma once
/// \file
/// Describes the build of the library.

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace hlo {

/// The versions of the library and of what it was built with.
struct BuildInfo {
  std::string_view version;  ///< For example "0.2.0".
  /// The abbreviated commit, with "+" if the tree had changes; "unknown" without git.
  std::string_view commit;
  std::string_view compiler;  ///< For example "GCC 12.2.0".
  std::string_view isa;       ///< The instruction set that the code is compiled for.
  std::string_view cuda;      ///< The version of the CUDA toolkit, or "no".
  std::string_view mpi;       ///< The MPI library of hlo-run, or "no".
};
const BuildInfo& GetBuildInfo();

/// Returns the lines that `hlo-run --version` prints.
std::string ToString(const BuildInfo& info);

}  // namespace hlo
#pragma GCC visibility pop
