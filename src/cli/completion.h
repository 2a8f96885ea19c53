#pragma once
// Completions for shells, made from the flags that the subcommands define.

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace hlo::cli {

std::vector<const CLI::App*> Subcommands(const CLI::App& program);

std::string BashCompletion(const CLI::App& program);
std::string ZshCompletion(const CLI::App& program);
std::string FishCompletion(const CLI::App& program);

}  // namespace hlo::cli
