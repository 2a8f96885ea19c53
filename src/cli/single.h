#pragma once
// Runs subcommands that take several files as one piece of work.

#include <functional>

#include "cli/common.h"

namespace hlo::cli {

// Calls `work` once and prints its result: text and diagnostics, or with --format=json one line. Returns the
// exit status.
int RunOnce(const CommonOptions& options, const std::function<void(FileResult&)>& work);

}  // namespace hlo::cli
