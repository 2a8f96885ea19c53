#include "cli/single.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "cli/interrupt.h"

namespace hlo::cli {

int RunOnce(const CommonOptions& options, const std::function<void(FileResult&)>& work) {
  if (options.max_memory > 0) SetMemoryLimit(static_cast<int64_t>(options.max_memory));
  FileResult result;
  {
    std::optional<Progress> progress;
    if (isatty(STDERR_FILENO) != 0) progress.emplace(stderr);
    result.progress = progress ? &*progress : nullptr;
    work(result);
    result.diagnostics += InterruptText(result.progress);
    result.progress = nullptr;
  }
  if (options.json) {
    Json line = {{"status", Name(result.exit)}, {"errors", result.errors}};
    line.update(result.extra);
    result.text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    std::fwrite(result.diagnostics.data(), 1, result.diagnostics.size(), stderr);
  }
  if (std::fwrite(result.text.data(), 1, result.text.size(), stdout) != result.text.size())
    RecordOutputError(errno);
  return static_cast<int>(result.exit);
}

}  // namespace hlo::cli
