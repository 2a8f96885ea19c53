#include "cli/usage.h"

#include <filesystem>
#include <vector>

#include "fmt/format.h"
#include "hlo_run/diagnostic.h"

namespace hlo::cli {
namespace {

std::string ClosestFlag(const CLI::App& command, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(ClosestName(word, views));
}

std::string Unexpected(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return fmt::format("{} does not take '{}'", command.get_name(), word);
  const std::string flag = word.substr(0, word.find('='));
  const std::string close =
      ClosestFlag(command, std::string_view(flag).substr(flag.find_first_not_of('-') % flag.size()));
  return fmt::format("{} has no flag '{}'{}", command.get_name(), flag,
                     close.empty() ? "" : fmt::format("; did you mean '--{}'?", close));
}

// Replaces the range of the numbers that have no upper limit, which CLI11 prints with 308 digits.
std::string WithoutUnlimitedRange(const std::string& message) {
  const size_t range = message.find(" not in range ");
  if (range == std::string::npos || message.size() < range + 300) return message;
  return message.substr(0, range) + (message.find("Value 0 ") == std::string::npos
                                         ? " is not a number, or is negative"
                                         : " is too small: it must be positive");
}

}  // namespace

std::string UsageMessage(const CLI::App* program, const CLI::Error& error) {
  const std::vector<CLI::App*> commands = program->get_subcommands();
  const CLI::App& command = commands.empty() ? *program : *commands.front();
  std::string message = WithoutUnlimitedRange(error.what());
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::vector<std::string> words = command.remaining();
    if (!words.empty()) message = Unexpected(command, words.front());
  }
  return fmt::format("hlo-run: error: {}\nsee {}{} --help\n", message, commands.empty() ? "" : "hlo-run ",
                     command.get_name());
}

std::string MisspelledSubcommand(const std::string& word, const std::vector<std::string_view>& subcommands) {
  std::error_code error;
  const bool may_be_file =
      word.find_first_of("./") != std::string_view::npos || std::filesystem::exists(word, error);
  if (word.empty() || word[0] == '-' || may_be_file) return "";
  const std::string_view close = ClosestName(word, subcommands);
  return close == word ? "" : std::string(close);
}

}  // namespace hlo::cli
