#include "cli/program.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/launched.h"
#include "cli/usage.h"
#include "fmt/format.h"
#include "hlo_run/version.h"
#include "mpi/launch.h"

namespace hlo::cli {
namespace {

// Inserts `run` if the first word is neither a subcommand nor a flag of the program.
std::vector<std::string> WithSubcommand(const CLI::App& program, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return words;
  const std::string& first = words.front();
  const auto subcommands = program.get_subcommands([](const CLI::App*) { return true; });
  const bool is_subcommand = std::any_of(subcommands.begin(), subcommands.end(),
                                         [&](const CLI::App* s) { return s->get_name() == first; });
  if (!is_subcommand && first != "-h" && first != "--help" && first != "--version")
    words.insert(words.begin(), "run");
  return words;
}

int RunCommand(int argc, char** argv) {
  CatchInterrupts();
  CLI::App program("Evaluates, checks and prints XLA HLO modules.", "hlo-run");
  program.set_version_flag(
      "--version", [] { return ToString(GetBuildInfo()); },
      "Version, commit, compiler and options of this build");
  program.require_subcommand(1);
  program.footer(
      "hlo-run FILE is short for hlo-run run FILE.\n"
      "Exit status: 0 success; 1 a check failed; 2 bad usage or input; 3 valid, but not supported by this "
      "build;\n"
      "4 a limit was reached (memory, time, steps, a full disk); 130 Ctrl-C ended it.\n"
      "Examples:\n"
      "  hlo-run m.hlo --input x.npy\n"
      "  hlo-run m.hlo --random 1 --output result.npz\n"
      "  hlo-run verify dumps/\n"
      "  hlo-run check golden/\n"
      "hlo-run SUBCOMMAND --help describes a subcommand.");
  int exit_status = 0;
  for (auto add : {AddRun, AddVerify, AddPrint, AddCheck, AddExtract, AddInputs, AddStats, AddDiff,
                   AddMinimize, AddSlice, AddGraph, AddPlan, AddProfile, AddTrace, AddShadow, AddDevices,
                   AddOps, AddExplain, AddDocs}) {
    add(program, exit_status);
  }
  program.failure_message(UsageMessage);
  if (argc == 1) {
    fmt::print("{}", program.help());
    return CloseOutput(2);
  }
  if (const std::string meant = MisspelledSubcommand(program, argv[1]); !meant.empty()) {
    fmt::print(stderr, "hlo-run: error: '{}' is neither a subcommand nor a file; did you mean '{}'?\n",
               argv[1], meant);
    return 2;
  }
  std::vector<std::string> words = WithSubcommand(program, argc, argv);
  std::reverse(words.begin(), words.end());  // CLI11 expects a vector in reverse order.
  try {
    program.parse(words);
  } catch (const CLI::ParseError& error) {
    exit_status = program.exit(error) == 0 ? 0 : 2;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) {  // fmt::print failed to write.
      RecordOutputError(error.code().value());
    } else {
      fmt::print(stderr, "hlo-run: error: {}\n", error.what());
      exit_status = 2;
    }
  }
  return CloseOutput(IsInterrupted() ? kInterrupted : exit_status);
}

}  // namespace

int RunProgram(int argc, char** argv) {
  return mpi::IsLaunched() ? RunLaunched(argc, argv, &RunCommand) : RunCommand(argc, argv);
}

}  // namespace hlo::cli
