#pragma once
// Implements `check --against`: conformance of another compiler or runtime.

#include "CLI/CLI.hpp"
#include "cli/common.h"
#include "debug/against/against.h"

namespace hlo::cli {

struct AgainstFlags {
  debug::AgainstOptions options;
  InputOptions inputs;  // For modules that are not cases.
  std::string html;
};
// Adds --against and the flags that it uses.
void AddAgainstFlags(CLI::App& app, AgainstFlags& flags);

// Runs the cases and modules and reports them; returns the exit status.
int RunAgainst(AgainstFlags flags, const std::vector<std::string>& paths, bool json, const std::string& junit,
               bool verbose);

}  // namespace hlo::cli
