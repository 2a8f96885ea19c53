// Iterates over files and writes to standard output and text files.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/status.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "fmt/format.h"
#include "hlo_run/module_file.h"
#include "io/file.h"
#include "nlohmann/json.hpp"

namespace hlo::cli {
namespace {

// JSON must be UTF-8, but names in a dump can contain any bytes.
std::string ToJsonLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns `dir/m#2.hlo` for the second module of dir/m.hlo.
std::string PartName(const std::string& file, size_t part) {
  const std::filesystem::path path(file);
  return (path.parent_path() /
          fmt::format("{}#{}{}", path.stem().string(), part + 1, path.extension().string()))
      .string();
}

// Writes the result of a module; returns false if standard output has failed.
bool WriteResult(FileResult& result, Json line, bool json) {
  if (json) {
    line.update({{"status", Name(result.exit)}, {"errors", result.errors}});
    line.update(result.extra);
    result.text = ToJsonLine(line) + "\n";
  } else if (!result.diagnostics.empty()) {
    std::fwrite(result.diagnostics.data(), 1, result.diagnostics.size(), stderr);
  }
  if (std::fwrite(result.text.data(), 1, result.text.size(), stdout) == result.text.size() &&
      std::fflush(stdout) == 0)
    return true;
  RecordOutputError(errno);
  return false;
}

// True if a single file receives the output; standard output can receive several.
bool HasSingleOutput(const CommonOptions& options) {
  return !options.single_output.empty() && options.single_output != "-";
}

bool ForEachModule(const CommonOptions& options, const std::string& file, bool json,
                   const std::function<void(const std::string&, FileResult&)>& work, Exit& worst) {
  ModuleFileOptions limits;
  if (options.max_memory > 0) limits.max_bytes = std::min<int64_t>(limits.max_bytes, options.max_memory);
  std::optional<Progress> progress;
  const auto show_progress = [&] {
    if (isatty(STDERR_FILENO) != 0) progress.emplace(stderr);
  };
  show_progress();
  const absl::StatusOr<ModuleFiles> modules = ModuleFiles::Read(file, limits);
  const size_t count = modules.ok() ? modules->size() : 1;
  if (count > 1 && HasSingleOutput(options)) {
    progress.reset();
    fmt::print(stderr, "hlo-run: error: {} has {} modules, and {} takes the result of one\n", file, count,
               options.single_output);
    worst = std::max(worst, Exit::kInvalid);
    return true;
  }
  for (size_t i = 0; i < count; ++i) {
    FileResult result;
    Json line = {{"file", file}};
    if (count > 1) line["part"] = i + 1;
    if (modules.ok()) {
      if (i > 0) show_progress();
      result.progress = progress ? &*progress : nullptr;
      result.module = modules->Get(i);
      work(count > 1 ? PartName(file, i) : file, result);
    } else {
      result.Fail(ExitFor(modules.status()), fmt::format("hlo-run: error: {}", Message(modules.status())));
    }
    result.diagnostics += InterruptText(progress ? &*progress : nullptr);
    progress.reset();  // Erases the progress line before anything else is printed.
    worst = std::max(worst, result.exit);
    if (i > 0 && !json) result.text = options.separator + result.text;
    if (!WriteResult(result, std::move(line), json) || IsInterrupted()) return false;
  }
  return true;
}

}  // namespace

int ForEachFile(const CommonOptions& options,
                const std::function<void(const std::string&, FileResult&)>& work) {
  if (options.max_memory > 0) SetMemoryLimit(static_cast<int64_t>(options.max_memory));
  const absl::StatusOr<std::vector<std::string>> files = SelectFiles(options);
  if (!files.ok()) {
    fmt::print(stderr, "hlo-run: error: {}\n", Message(files.status()));
    return static_cast<int>(Exit::kInvalid);
  }
  if (files->size() > 1 && HasSingleOutput(options)) {
    fmt::print(stderr, "hlo-run: error: there are {} files, and {} takes the result of one module\n",
               files->size(), options.single_output);
    return static_cast<int>(Exit::kInvalid);
  }
  Exit worst = Exit::kOk;
  for (const std::string& file : *files) {
    if (!ForEachModule(options, file, options.json || files->size() > 1, work, worst)) break;
  }
  return static_cast<int>(worst);
}

namespace {
int output_error = 0;  // The errno of the first failed write to standard output.
}  // namespace

void RecordOutputError(int error) {
  if (output_error == 0) output_error = error;
}

int CloseOutput(int exit_status) {
  if (std::fflush(stdout) != 0) RecordOutputError(errno);
  if (output_error == 0 && std::ferror(stdout) != 0) RecordOutputError(EIO);
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
    RecordOutputError(errno);
    return absl::ErrnoToStatus(errno, "cannot write to standard output");
  }
  return io::WriteText(path, content);
}

}  // namespace hlo::cli
