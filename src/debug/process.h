#pragma once
// Runs commands of the user in a shell, with a time limit.

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::debug {

struct CommandOutcome {
  int exit_status = 0;
  int signal = 0;  // The signal that ended the command; 0 if it exited.
  bool timed_out = false;
  double seconds = 0;
  std::string output;  // The last part of the command's standard output and error.
  bool ok() const { return exit_status == 0 && signal == 0 && !timed_out; }
  // True if the shell found no command of this name, or cannot execute it.
  bool cannot_run() const { return exit_status == 126 || exit_status == 127; }
};
// Returns a line such as `ended by signal 11 (Segmentation fault)`.
std::string Describe(const CommandOutcome& outcome);

// Replaces the placeholders of a command, such as `{hlo}`, by quoted words.
std::string FillPlaceholders(const std::string& command,
                             const std::vector<std::pair<std::string, std::string>>& words);

// True if the flag, which may be null, is set.
inline bool IsSet(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// Runs a command in a process group of its own, which is killed after `max_seconds` (0: no limit), or once
// the flag `cancel` is set. Fails only if it cannot start a process, or with Cancelled.
absl::StatusOr<CommandOutcome> RunCommand(const std::string& command, double max_seconds,
                                          const std::atomic<bool>* cancel = nullptr);

// A temporary folder, which the destructor removes with its files.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace hlo::debug
