#include "cli/common.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "base/counted.h"
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
    text += fmt::format("  {} {}: {} ({}, {} copied)\n", Name(fallback.instruction->opcode()),
                        fallback.instruction->name(), fallback.reason, Counted(fallback.runs, "run"),
                        Counted(fallback.bytes, "byte"));
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

namespace {

// Returns the message with `error: ` after the location in the module with which it begins, if it does and
// has no severity there.
std::string WithSeverity(std::string_view message, const SourceText* source) {
  if (source == nullptr || !message.starts_with(source->name() + ":")) return std::string(message);
  const size_t end = message.find(": ", source->name().size());
  if (end == std::string_view::npos) return std::string(message);
  const std::string_view rest = message.substr(end + 2);
  for (const std::string_view severity : {"error: ", "warning: ", "note: "})
    if (rest.starts_with(severity)) return std::string(message);
  return fmt::format("{}: error: {}", message.substr(0, end), rest);
}

}  // namespace

void FileResult::Fail(Exit exit_status, const std::string& message) {
  exit = std::max(exit, exit_status);
  // Each line that starts with a location in the module is a separate error.
  size_t begin = 0;
  while (begin != std::string::npos) {
    const size_t next =
        source == nullptr ? std::string::npos : message.find("\n" + source->name() + ":", begin);
    const std::string_view one = std::string_view(message).substr(begin, next - begin);
    errors.push_back(ErrorOf(one, source.get()));
    diagnostics += WithSeverity(one, source.get()) + "\n";
    begin = next == std::string::npos ? next : next + 1;
  }
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
