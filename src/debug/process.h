#pragma once
// Runs commands of the user in a shell, with a time limit.

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
};
// Returns a line such as `ended by signal 11 (Segmentation fault)`.
std::string Describe(const CommandOutcome& outcome);

// Replaces the placeholders of a command, such as `{hlo}`, by quoted words.
std::string FillPlaceholders(const std::string& command,
                             const std::vector<std::pair<std::string, std::string>>& words);

// Runs a command in a process group of its own, which is killed after `max_seconds` (0: no limit). Fails only
// if it cannot start a process.
absl::StatusOr<CommandOutcome> RunCommand(const std::string& command, double max_seconds);

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
