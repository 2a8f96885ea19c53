#pragma once
// Messages about command lines that cannot be understood.

#include <string>

#include "CLI/CLI.hpp"

namespace hlo::cli {

// "hlo-run: error: run has no flag '--inptu'; did you mean '--input'?" and where to find more.
std::string UsageMessage(const CLI::App* program, const CLI::Error& error);
// Whether the first word is neither a subcommand nor a file, and close to a subcommand, which then is
// returned; or "".
std::string MisspelledSubcommand(const CLI::App& program, const std::string& word);

}  // namespace hlo::cli
