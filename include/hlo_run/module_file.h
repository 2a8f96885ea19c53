#pragma once
// Modules in files and folders as people have them: compressed, several in a file, dumps of XLA.

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

struct ModuleFileOptions {
  // The most bytes that a file may have when it is decompressed.
  int64_t max_bytes = (int64_t{1} << 32) - 1;
};

// A file with one or more modules: lines `// -----` separate those of a text. Modules are made when they are
// asked for, so that a large file is in memory once.
class ModuleFiles {
 public:
  // Errors name the file, say what it is if it is no module, and where its data are damaged.
  static absl::StatusOr<ModuleFiles> Read(const std::string& path, const ModuleFileOptions& options = {});

  size_t size() const { return parts_.size(); }
  const ModuleFile& whole() const { return whole_; }
  // Diagnostics of its text have the line numbers of the file.
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

// The name of a file in a dump, `module_0001.jit_f.0003.fusion.after_dce.before_cse.txt`: its module
// `module_0001.jit_f` and its pass `0003.fusion.after_dce.before_cse`. Any other file is a module of its own
// name, without a pass.
struct DumpName {
  std::string module;
  std::string pass;
};
DumpName ParseDumpName(std::string_view path);

// What a file is that XLA and its clients write beside modules, in the plural ("buffer assignments"); or "".
std::string_view SideFileKind(std::string_view path);

struct FoundModules {
  std::vector<std::string> files;          // Sorted.
  std::map<std::string, int64_t> skipped;  // Kind of side file and how many there are.
};
// The modules below a folder, by names and, for .txt and .pbtxt, first bytes. NotFound if it cannot be read.
absl::StatusOr<FoundModules> FindModules(const std::string& folder);

}  // namespace hlo
#pragma GCC visibility pop
