#pragma once
// Ctrl-C ends a run with what is known so far.

#include <string>

#include "observe/progress.h"

namespace hlo::cli {

// The first SIGINT ends the work at its next check, the second one ends the process. Does nothing if the
// signal is ignored.
void CatchInterrupts();

// Returns the line that says how far the interrupted work is; empty if it is not interrupted.
std::string InterruptText(const Progress* progress);

// The exit status of an interrupted program, as of one that the signal ends in a shell.
inline constexpr int kInterrupted = 130;

}  // namespace hlo::cli
