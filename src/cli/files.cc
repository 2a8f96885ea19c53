// The loop over files, and what goes to standard output or into files of text.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/common.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo::cli {
namespace {

namespace fs = std::filesystem;

bool IsModule(const fs::path& path) {
  return path.extension() == ".hlo" || path.extension() == ".pb" || path.extension() == ".pbtxt";
}

// The files that an argument stands for: itself, or all modules below a directory.
std::vector<std::string> Expand(const std::string& argument) {
  std::error_code error;
  if (argument == "-" || !fs::is_directory(argument, error)) return {argument};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(argument, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && IsModule(it->path())) files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// UTF-8 is what JSON demands; names in a dump can be any bytes.
std::string ToJsonLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

int ForEachFile(const CommonOptions& options,
                const std::function<void(const std::string&, FileResult&)>& work) {
  if (options.max_memory > 0) SetMemoryLimit(static_cast<int64_t>(options.max_memory));
  std::vector<std::string> files;
  for (const std::string& argument : options.files) {
    const std::vector<std::string> expanded = Expand(argument);
    if (expanded.empty()) {
      fmt::print(stderr, "hlo-run: error: no .hlo, .pb or .pbtxt files below '{}'\n", argument);
      return static_cast<int>(Exit::kInvalid);
    }
    files.insert(files.end(), expanded.begin(), expanded.end());
  }
  const bool json = options.json || files.size() > 1;
  Exit worst = Exit::kOk;
  for (const std::string& file : files) {
    FileResult result;
    work(file, result);
    worst = std::max(worst, result.exit);
    if (json) {
      Json line = {{"file", file}, {"status", Name(result.exit)}, {"errors", result.errors}};
      line.update(result.extra);
      result.text = ToJsonLine(line) + "\n";
    } else if (!result.diagnostics.empty()) {
      std::fwrite(result.diagnostics.data(), 1, result.diagnostics.size(), stderr);
    }
    if (std::fwrite(result.text.data(), 1, result.text.size(), stdout) != result.text.size() ||
        std::fflush(stdout) != 0) {
      NoteOutputError(errno);
      break;
    }
  }
  return static_cast<int>(worst);
}

namespace {
int output_error = 0;  // The first error of standard output, as an errno.
}  // namespace

void NoteOutputError(int error) {
  if (output_error == 0) output_error = error;
}

int CloseOutput(int exit_status) {
  if (std::fflush(stdout) != 0) NoteOutputError(errno);
  if (output_error == 0 && std::ferror(stdout) != 0) NoteOutputError(EIO);
  if (output_error == 0) return exit_status;
  const absl::Status status = absl::ErrnoToStatus(output_error, "cannot write to standard output");
  std::fprintf(stderr, "hlo-run: error: cannot write to standard output: %s\n", std::strerror(output_error));
  return std::max(exit_status, static_cast<int>(ExitFor(status)));
}

absl::Status WriteOutput(const std::string& path, std::string_view content) {
  if (path == "-") {
    const bool ok =
        std::fwrite(content.data(), 1, content.size(), stdout) == content.size() && std::fflush(stdout) == 0;
    if (ok) return absl::OkStatus();
    NoteOutputError(errno);
    return absl::ErrnoToStatus(errno, "cannot write to standard output");
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, fmt::format("cannot write '{}'", path));
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const absl::Status status = absl::ErrnoToStatus(errno, fmt::format("cannot write '{}'", path));
  std::remove(temporary.c_str());
  return status;
}

}  // namespace hlo::cli
