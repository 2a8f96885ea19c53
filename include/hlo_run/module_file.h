#pragma once
/// \file
/// Reads module files, which may be compressed, contain several modules, or be in dump folders of XLA.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"

#pragma GCC visibility push(default)
namespace hlo {

/// Limits on files.
struct ModuleFileOptions {
  /// The largest size of a file after decompression, in bytes.
  int64_t max_bytes = (int64_t{1} << 32) - 1;
};

/// A file of one or more modules; lines `// -----` separate modules in text. Get extracts modules on demand,
/// so the file is in memory only once.
class ModuleFiles {
 public:
  /// Reads a file. Errors name the file, its kind if it is not a module, and the position of damaged data.
  static absl::StatusOr<ModuleFiles> Read(const std::string& path, const ModuleFileOptions& options = {});

  size_t size() const { return parts_.size(); }
  const ModuleFile& whole() const { return whole_; }
  /// Returns module i. Its diagnostics have the line numbers of the file.
  ModuleFile Get(size_t i) const;

 private:
  struct Part {
    size_t begin, end;
    int64_t line;
  };
  void FindParts();

  ModuleFile whole_;
  std::vector<Part> parts_;
};

/// The parts of a dump file name: `module_0001.jit_f.0003.fusion.after_dce.before_cse.txt` has the module
/// `module_0001.jit_f` and the pass `0003.fusion.after_dce.before_cse`. Other files have their own name as
/// the module and no pass.
struct DumpName {
  std::string module;
  std::string pass;
};
DumpName ParseDumpName(std::string_view path);

/// Returns the kind of a side file that XLA and its clients write with modules, in the plural ("buffer
/// assignments"); "" for other files.
std::string_view SideFileKind(std::string_view path);

/// The modules below a folder, and the files that are none.
struct FoundModules {
  std::vector<std::string> files;          ///< Sorted paths.
  std::map<std::string, int64_t> skipped;  ///< The number of side files by kind.
};
/// Finds the module files below a folder by name and, for .txt and .pbtxt, by first bytes. Returns NotFound
/// if the folder cannot be read.
absl::StatusOr<FoundModules> FindModules(const std::string& folder);

}  // namespace hlo
#pragma GCC visibility pop
