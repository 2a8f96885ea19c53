// Expands the file arguments.

#include <cstdio>
#include <filesystem>

#include "base/counted.h"
#include "base/pattern.h"
#include "base/status.h"
#include "cli/common.h"
#include "fmt/format.h"
#include "hlo_run/module_file.h"

namespace hlo::cli {
namespace {

// Prints "12 side files below 'dump' skipped: 8 buffer assignments, 4 debug options".
void PrintSkipped(const std::string& folder, const std::map<std::string, int64_t>& skipped) {
  int64_t total = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : skipped) {
    total += count;
    kinds.push_back(fmt::format("{} {}", count, kind));
  }
  if (total == 0) return;
  fmt::print(stderr, "hlo-run: note: skipped {} below '{}' beside the modules: {}\n", Counted(total, "file"),
             folder, fmt::join(kinds, ", "));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SelectFiles(const CommonOptions& options) {
  std::vector<std::string> files;
  for (const std::string& argument : options.files) {
    std::error_code error;
    if (argument == "-" || !std::filesystem::is_directory(argument, error)) {
      files.push_back(argument);
      continue;
    }
    HLO_ASSIGN_OR_RETURN(FoundModules found, FindModules(argument));
    if (found.files.empty())
      return absl::InvalidArgumentError(fmt::format("no modules below '{}'", argument));
    PrintSkipped(argument, found.skipped);
    files.insert(files.end(), found.files.begin(), found.files.end());
  }
  if (options.module_pattern.empty() && options.pass_pattern.empty()) return files;
  HLO_ASSIGN_OR_RETURN(const std::regex module, ParsePattern("module", options.module_pattern));
  HLO_ASSIGN_OR_RETURN(const std::regex pass, ParsePattern("pass", options.pass_pattern));
  const size_t all = files.size();
  std::erase_if(files, [&](const std::string& file) {
    const DumpName name = ParseDumpName(file);
    return !std::regex_search(name.module, module) || !std::regex_search(name.pass, pass);
  });
  if (!files.empty()) return files;
  return absl::InvalidArgumentError(
      fmt::format("none of the {} matches{}{}", Counted(static_cast<int64_t>(all), "module"),
                  options.module_pattern.empty() ? "" : fmt::format(" --module '{}'", options.module_pattern),
                  options.pass_pattern.empty() ? "" : fmt::format(" --pass '{}'", options.pass_pattern)));
}

}  // namespace hlo::cli
