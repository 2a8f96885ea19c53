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
  if (!executable.fallback_reason().empty())
    return fmt::format("the reference ran the whole module on the CPU: {}\n", executable.fallback_reason());
  const std::vector<Fallback> fallbacks = executable.fallbacks();
  std::string text = fmt::format("{} of the plan's steps ran on the CPU\n", fallbacks.size());
  for (const Fallback& fallback : fallbacks) {
    text += fmt::format("  {} {}: {} ({} runs, {} bytes copied)\n", Name(fallback.instruction->opcode()),
                        fallback.instruction->name(), fallback.reason, fallback.runs, fallback.bytes);
  }
  return text;
}

std::string RefusalText(const Executable& executable, const std::string& file) {
  if (executable.plan_refusal().empty()) return "";
  return fmt::format(
      "{}: warning: {} (this is a bug of hlo-run, please report it); the module runs without the optional "
      "passes "
      "of the planner\n",
      file, executable.plan_refusal());
}

bool UseColor() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) != 0 && (no_color == nullptr || no_color[0] == '\0');
}

void FileResult::Fail(Exit exit_status, const std::string& message) {
  exit = std::max(exit, exit_status);
  // Each line that starts with a location in the module is a separate error.
  size_t begin = 0;
  while (begin != std::string::npos) {
    const size_t next =
        source == nullptr ? std::string::npos : message.find("\n" + source->name() + ":", begin);
    errors.push_back(ErrorOf(std::string_view(message).substr(begin, next - begin), source.get()));
    begin = next == std::string::npos ? next : next + 1;
  }
  diagnostics += message + "\n";
}

bool FileResult::Accept(const absl::Status& status, const std::string& file) {
  if (status.ok()) return true;
  // Messages that start with a location already name the file.
  std::string message(Message(status));
  const bool is_placed = absl::StartsWith(message, file + ":") ||
                         (source != nullptr && absl::StartsWith(message, source->name() + ":"));
  if (!is_placed) message = fmt::format("{}: error: {}", file, message);
  Fail(ExitFor(status), message);
  return false;
}

}  // namespace hlo::cli
