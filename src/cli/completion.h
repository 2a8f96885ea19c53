#pragma once
// Generates shell completions from the flags of the subcommands.

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace hlo::cli {

std::vector<const CLI::App*> Subcommands(const CLI::App& program);

std::string BashCompletion(const CLI::App& program);
std::string ZshCompletion(const CLI::App& program);
std::string FishCompletion(const CLI::App& program);

}  // namespace hlo::cli
