#pragma once
// Ctrl-C ends a run with what is known so far.

#include <atomic>
#include <optional>
#include <string>

#include "observe/progress.h"

namespace hlo::cli {

// Signal handlers may set it. Runs whose options have it as `cancel` end at their next check.
inline std::atomic<bool> interrupt_flag{false};

inline bool IsInterrupted() { return interrupt_flag.load(std::memory_order_relaxed); }

// The first SIGINT ends the work at its next check, the second one ends the process. Does nothing if the
// signal is ignored.
void CatchInterrupts();

// Shows progress while it lives, if stderr is a terminal.
class TerminalProgress {
 public:
  TerminalProgress();
  ~TerminalProgress() { End(); }
  Progress* get() { return progress_ ? &*progress_ : nullptr; }
  // Erases the line, so that other text can be printed.
  void Erase();
  // Erases the line, and prints how far the work was if it is interrupted.
  void End();

 private:
  std::optional<Progress> progress_;
};

// Returns the line that says how far the interrupted work is; empty if it is not interrupted.
std::string InterruptText(const Progress* progress);

// The exit status of an interrupted program, as of one that the signal ends in a shell.
inline constexpr int kInterrupted = 130;

}  // namespace hlo::cli
