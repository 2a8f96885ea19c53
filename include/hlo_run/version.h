#pragma once
// Which build of the library is this?

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace hlo {

struct BuildInfo {
  std::string_view version;   // "0.2.0"
  std::string_view commit;    // The first digits, "+" after them where files had changed; "unknown" without git.
  std::string_view compiler;  // "GCC 12.2.0"
  std::string_view isa;       // The instructions that code is compiled for.
  std::string_view cuda;      // The toolkit's version, or "no".
  std::string_view mpi;       // "yes" or "no".
};
const BuildInfo& GetBuildInfo();

// Lines, as `hlo-run --version` prints them.
std::string ToString(const BuildInfo& info);

}  // namespace hlo
#pragma GCC visibility pop
