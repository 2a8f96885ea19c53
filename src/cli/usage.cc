#include "cli/usage.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
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

// Flags of XLA's run_hlo_module and hlo-opt and of StableHLO's interpreter, and what corresponds to them.
struct ForeignFlag {
  std::string_view name, instead;
};
constexpr ForeignFlag kForeignFlags[] = {
    {"abs_error_bound", "--tolerance 'within abs A rel R' of check and diff sets tolerances"},
    {"args", "--input gives arguments"},
    {"force_fake_data", "--random SEED generates arguments"},
    {"input_format", "the content of a file shows its format"},
    {"input_literals_file", "--input gives arguments"},
    {"input_module", "modules are given without a flag: hlo-run run FILE"},
    {"isolate_instructions", "--cross-check compares both engines step by step"},
    {"iterations", "--repeat N evaluates the module N times"},
    {"output_literals_file", "--output stores the result"},
    {"passes", "hlo-run plan --passes lists the passes, and --disable-pass disables one"},
    {"platform", "--engine and --device choose what evaluates a module"},
    {"print_literals", "results are printed unless --output stores them"},
    {"random_init_input_literals", "--random SEED generates arguments"},
    {"reference_platform", "--cross-check compares both engines, and check --against another compiler"},
    {"rel_error_bound", "--tolerance 'within abs A rel R' of check and diff sets tolerances"},
    {"use_large_float_range", "--range LO:HI and --fill log-uniform choose random arguments"},
};

std::string_view InsteadOf(std::string_view flag) {
  std::string name(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())));
  std::replace(name.begin(), name.end(), '-', '_');
  for (const ForeignFlag& foreign : kForeignFlags)
    if (foreign.name == name) return foreign.instead;
  return "";
}

std::string Unexpected(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return fmt::format("{} does not take '{}'", command.get_name(), word);
  const std::string flag = word.substr(0, word.find('='));
  if (const std::string_view instead = InsteadOf(flag); !instead.empty())
    return fmt::format("{} has no flag '{}'; {}", command.get_name(), flag, instead);
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

// Rewrites "Could not convert: --random = x".
std::string WithoutConversion(const std::string& message) {
  constexpr std::string_view kBegin = "Could not convert: ", kEquals = " = ";
  const size_t equals = message.find(kEquals);
  if (!message.starts_with(kBegin) || equals == std::string::npos) return message;
  return fmt::format("{}: '{}' is not a valid value", message.substr(kBegin.size(), equals - kBegin.size()),
                     message.substr(equals + kEquals.size()));
}

// Rewrites "--format: xml not in {text,json}".
std::string WithChoices(const std::string& message) {
  constexpr std::string_view kNotIn = " not in {";
  const size_t list = message.find(kNotIn), value = message.find(": ");
  if (list == std::string::npos || value == std::string::npos || value > list || !message.ends_with('}'))
    return message;
  const std::string_view choices =
      std::string_view(message).substr(list + kNotIn.size(), message.size() - list - kNotIn.size() - 1);
  return fmt::format("{}: '{}' is not {}{}", message.substr(0, value),
                     message.substr(value + 2, list - value - 2),
                     choices.find(',') == std::string_view::npos ? "" : "one of ",
                     absl::StrReplaceAll({choices.data(), choices.size()}, {{",", ", "}}));
}

// The message says what to give for a missing positional argument.
constexpr std::pair<std::string_view, std::string_view> kRequired[] = {
    {"files", "give at least one FILE, or - for standard input"},
    {"paths", "give at least one PATH: a golden folder, a case file, a snapshot, or a directory of them"},
    {"what",
     "give what to print: man, bash-completion, zsh-completion, fish-completion, or tree to store all"},
};

}  // namespace

std::string UsageMessage(const CLI::App* program, const CLI::Error& error) {
  const std::vector<CLI::App*> commands = program->get_subcommands();
  const CLI::App& command = commands.empty() ? *program : *commands.front();
  std::string message = WithChoices(WithoutConversion(WithoutUnlimitedRange(error.what())));
  for (const auto& [name, instead] : kRequired) {
    if (message == fmt::format("{} is required", name)) message = instead;
  }
  // An unknown flag may be why a required one is missing.
  const bool is_missing = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (is_missing || error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
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
