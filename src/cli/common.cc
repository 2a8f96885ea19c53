#include "cli/common.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "base/status.h"
#include "fmt/format.h"

namespace hlo::cli {

Exit ExitFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Exit::kOk;
    case absl::StatusCode::kUnimplemented:
      return Exit::kUnsupported;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return Exit::kLimit;
    default:
      return Exit::kInvalid;
  }
}

std::string_view Name(Exit exit) {
  constexpr std::string_view kNames[] = {"ok", "failed", "invalid", "unsupported", "limit"};
  return kNames[static_cast<int>(exit)];
}

std::string FallbacksText(const Executable& executable) {
  const std::vector<Fallback> fallbacks = executable.fallbacks();
  std::string text = fmt::format("{} of the plan's steps ran on the CPU\n", fallbacks.size());
  for (const Fallback& fallback : fallbacks) {
    text += fmt::format("  {} {}: {} ({} runs, {} bytes copied)\n", Name(fallback.instruction->opcode()),
                        fallback.instruction->name(), fallback.reason, fallback.runs, fallback.bytes);
  }
  return text;
}

bool UseColor() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) != 0 && (no_color == nullptr || no_color[0] == '\0');
}

void FileResult::Fail(Exit exit_status, std::string message) {
  exit = std::max(exit, exit_status);
  diagnostics += message + "\n";
  errors.push_back(std::move(message));
}

bool FileResult::Accept(const absl::Status& status, const std::string& file) {
  if (status.ok()) return true;
  // Messages that begin with a place already name the file.
  std::string message(Message(status));
  if (!absl::StartsWith(message, file + ":")) message = fmt::format("{}: error: {}", file, message);
  Fail(ExitFor(status), std::move(message));
  return false;
}

}  // namespace hlo::cli
