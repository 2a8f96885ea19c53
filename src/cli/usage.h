#pragma once
// Error messages for invalid command lines.

#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"

namespace hlo::cli {

// Returns "hlo-run: error: run has no flag '--inptu'; did you mean '--input'?" with a hint where to find
// help.
std::string UsageMessage(const CLI::App* program, const CLI::Error& error);
// Returns the one of the subcommands that the first word probably means; "" if it is a subcommand, a file or
// not similar to one.
std::string MisspelledSubcommand(const std::string& word, const std::vector<std::string_view>& subcommands);

}  // namespace hlo::cli
