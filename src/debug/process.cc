#include "debug/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "fmt/format.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not all systems declare it

namespace hlo::debug {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMaxOutput = 8192;

std::string Quoted(const std::string& word) {
  return "'" + absl::StrReplaceAll(word, {{"'", "'\\''"}}) + "'";
}

// The read end of a command's output.
struct Child {
  pid_t pid = 0;
  int output = -1;
};

absl::StatusOr<Child> Start(const std::string& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string shell = "/bin/sh", flag = "-c", text = command;
  char* words[] = {shell.data(), flag.data(), text.data(), nullptr};
  Child child;
  const int error = posix_spawn(&child.pid, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  child.output = ends[0];
  if (error == 0) return child;
  close(ends[0]);
  return absl::ErrnoToStatus(error, "cannot start /bin/sh");
}

// Reads the output that arrives within 20 ms; returns false at the end of the output.
bool ReadSome(int descriptor, std::string& output) {
  pollfd waiting = {descriptor, POLLIN, 0};
  if (poll(&waiting, 1, 20) <= 0) return true;
  char bytes[4096];
  const ssize_t count = read(descriptor, bytes, sizeof bytes);
  if (count <= 0) return false;
  output.append(bytes, static_cast<size_t>(count));
  if (output.size() > 2 * kMaxOutput) output.erase(0, output.size() - kMaxOutput);
  return true;
}

void SetEnd(int status, CommandOutcome& outcome) {
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  // A shell reports a child that a signal ended as 128 plus the signal.
  if (outcome.exit_status > 128 && outcome.exit_status < 128 + 65) outcome.signal = outcome.exit_status - 128;
}

}  // namespace

std::string Describe(const CommandOutcome& outcome) {
  if (outcome.timed_out) return fmt::format("timed out after {:.1f} s", outcome.seconds);
  if (outcome.signal != 0)
    return fmt::format("ended by signal {} ({})", outcome.signal, strsignal(outcome.signal));
  return fmt::format("exit status {}", outcome.exit_status);
}

std::string FillPlaceholders(const std::string& command,
                             const std::vector<std::pair<std::string, std::string>>& words) {
  std::vector<std::pair<std::string, std::string>> quoted;
  for (const auto& [name, word] : words) quoted.emplace_back(name, Quoted(word));
  return absl::StrReplaceAll(command, quoted);
}

absl::StatusOr<CommandOutcome> RunCommand(const std::string& command, double max_seconds,
                                          const std::atomic<bool>* cancel) {
  HLO_ASSIGN_OR_RETURN(const Child child, Start(command));
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  CommandOutcome outcome;
  bool is_open = true;
  int status = 0;
  while (waitpid(child.pid, &status, WNOHANG) == 0) {
    if (is_open)
      is_open = ReadSome(child.output, outcome.output);
    else
      usleep(5000);
    if (max_seconds > 0 && seconds() > max_seconds && !outcome.timed_out) {
      outcome.timed_out = true;
      kill(-child.pid, SIGKILL);
    }
    if (IsSet(cancel)) kill(-child.pid, SIGKILL);
  }
  // Processes that the command left behind may hold the pipe open.
  kill(-child.pid, SIGKILL);
  for (int i = 0; i < 64 && is_open; ++i) is_open = ReadSome(child.output, outcome.output);
  close(child.output);
  if (IsSet(cancel)) return absl::CancelledError("interrupted");
  outcome.seconds = seconds();
  if (!outcome.timed_out) SetEnd(status, outcome);
  if (outcome.output.size() > kMaxOutput) outcome.output.erase(0, outcome.output.size() - kMaxOutput);
  return outcome;
}

absl::StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code error;
  std::string pattern = std::filesystem::temp_directory_path(error).string() + "/hlo-run-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr)
    return absl::ErrnoToStatus(errno, fmt::format("cannot make '{}'", pattern));
  return TemporaryFolder(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace hlo::debug
