#pragma once
// Adds the flags that subcommands share.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "cli/common.h"
#include "hlo_run/compare.h"

namespace hlo::cli {

// Returns a case-insensitive validator of an enumeration's words. CLI11's own prints the enumerators as
// characters.
template <class Enum>
CLI::Validator OneOf(const std::map<std::string, Enum>& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  const std::string list = absl::StrJoin(names, ", ");
  return CLI::Validator(
      [words, list](std::string& text) {
        const auto found = words.find(absl::AsciiStrToLower(text));
        if (found == words.end()) return "'" + text + "' is not one of " + list;
        text = std::to_string(static_cast<int>(found->second));
        return std::string();
      },
      "{" + list + "}");
}

// A validator of positive, finite numbers.
CLI::Validator PositiveReal();
// A validator of finite numbers.
CLI::Validator FiniteReal();
// A validator of sizes such as 4096, 64k, '10 MB' and 2GiB, which it converts to bytes.
CLI::Validator ByteSize();

// Adds positional files, --format, --strict, --max-errors, --max-nesting, --max-literal-bytes, --max-memory.
void AddCommonFlags(CLI::App& app, CommonOptions& options);
// Adds --elided, the values of elided constants.
void AddElidedFlag(CLI::App& app, ElidedValues& elided);
// Adds --random, --fill and --range.
void AddFillFlags(CLI::App& app, InputOptions& options);
// Adds the range of random arguments, under these names.
void AddRandomRangeFlag(CLI::App& app, InputOptions& options, const std::string& names);
// Adds --input and the flags of AddFillFlags.
void AddInputFlags(CLI::App& app, InputOptions& options);
// Adds --disable-pass, --pass-limit, --trust-plan and --check-passes.
void AddPlanFlags(CLI::App& app, PlanOptions& options);
// Adds --engine, --device and the flags of AddPlanFlags.
void AddEngineFlags(CLI::App& app, EngineOptions& options);
// Adds --tolerance, the rule for floats.
void AddToleranceFlag(CLI::App& app, std::optional<CompareRule>& rule);
// Adds --engine alone.
void AddEngineFlag(CLI::App& app, Engine& engine);
// Adds --max-seconds, the time limit of a run.
void AddMaxSecondsFlag(CLI::App& app, double& max_seconds);
// Adds --custom-call-library and --custom-call.
void AddCustomCallFlags(CLI::App& app, CustomCallOptions& options);

}  // namespace hlo::cli
