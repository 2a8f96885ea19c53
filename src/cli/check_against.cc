#include "cli/check_against.h"

#include <algorithm>
#include <cstdio>

#include "base/status.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

int FailWith(const absl::Status& status) {
  fmt::print(stderr, "hlo-run: error: {}\n", Message(status));
  return static_cast<int>(ExitFor(status));
}

void PrintResult(const debug::AgainstResult& result) {
  const std::string place = result.line > 0 ? fmt::format("{}:{}", result.path, result.line) : result.path;
  const std::string name = result.name == result.path ? "" : ": " + result.name;
  fmt::print("{}: {}{}\n{}", Name(result.verdict), place, name, result.report);
  if (!result.report.empty() && !result.report.ends_with('\n')) fmt::print("\n");
}

Exit WorstExit(const std::vector<debug::AgainstResult>& results) {
  const auto is_good = [](const debug::AgainstResult& result) {
    return result.verdict == debug::AgainstVerdict::kPassed ||
           result.verdict == debug::AgainstVerdict::kSkipped;
  };
  return std::all_of(results.begin(), results.end(), is_good) ? Exit::kOk : Exit::kFailed;
}

}  // namespace

void AddAgainstFlags(CLI::App& app, AgainstFlags& flags) {
  CLI::Option* against =
      app.add_option("--against", flags.options.command,
                     "Check another compiler or runtime: a command that runs {hlo} with {inputs} (.npz) and "
                     "writes {outputs} (.npz). Modules without expected results get random inputs, and this "
                     "program computes the expected results")
          ->type_name("COMMAND");
  app.add_option("-j,--jobs", flags.options.jobs,
                 "Number of commands that run at the same time; default: one per core")
      ->check(CLI::PositiveNumber)
      ->needs(against);
  app.add_option("--html", flags.html, "Write a report as an HTML page")->type_name("FILE")->needs(against);
  AddToleranceFlag(app, flags.options.rule);
  AddFillFlags(app, flags.inputs);
}

int RunAgainst(AgainstFlags flags, const std::vector<std::string>& paths, bool json, const std::string& junit,
               bool verbose) {
  debug::AgainstOptions& options = flags.options;
  options.make = flags.inputs.make;
  options.cancel = &interrupt_flag;
  TerminalProgress progress;
  if (!json) {
    options.report = [&progress, verbose](const debug::AgainstResult& result) {
      if (verbose || (result.verdict != debug::AgainstVerdict::kPassed &&
                      result.verdict != debug::AgainstVerdict::kSkipped)) {
        progress.Erase();
        PrintResult(result);
      }
    };
  }
  const absl::StatusOr<std::vector<debug::AgainstResult>> results = debug::CheckAgainst(paths, options);
  progress.End();
  if (!results.ok()) return FailWith(results.status());
  fmt::print("{}", json ? AgainstJson(*results, options) : AgainstText(*results));
  absl::Status written;
  if (!junit.empty()) written.Update(WriteOutput(junit, AgainstJUnit(*results)));
  if (!flags.html.empty()) written.Update(WriteOutput(flags.html, AgainstHtml(*results, options)));
  return written.ok() ? static_cast<int>(WorstExit(*results)) : FailWith(written);
}

}  // namespace hlo::cli
