#pragma once
// The flags that subcommands share.

#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "cli/common.h"

namespace hlo::cli {

// One of an enumeration's words, in any case. CLI11's own would show the values beside them, as characters.
template <class Enum>
CLI::Validator OneOf(const std::map<std::string, Enum>& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  const std::string list = absl::StrJoin(names, ", ");
  return CLI::Validator(
      [words, list](std::string& text) {
        const auto found = words.find(absl::AsciiStrToLower(text));
        if (found == words.end()) return "'" + text + "' is none of " + list;
        text = std::to_string(static_cast<int>(found->second));
        return std::string();
      },
      "{" + list + "}");
}

// Positional files, --format, --strict, --max-errors, --max-nesting, --max-literal-bytes, --max-memory.
void AddCommonFlags(CLI::App& app, CommonOptions& options);
// --elided: values for constants without elements.
void AddElidedFlag(CLI::App& app, ElidedValues& elided);
// --random and --fill.
void AddFillFlags(CLI::App& app, InputOptions& options);
// --input besides.
void AddInputFlags(CLI::App& app, InputOptions& options);
// --disable-pass, --trust-plan and --check-passes.
void AddPlanFlags(CLI::App& app, PlanOptions& options);
// --engine, --device and those of AddPlanFlags.
void AddEngineFlags(CLI::App& app, EngineOptions& options);
// --custom-call-library and --custom-call.
void AddCustomCallFlags(CLI::App& app, CustomCallOptions& options);

}  // namespace hlo::cli
