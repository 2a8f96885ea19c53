#include "cli/program.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/activity.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/mpi_launch.h"
#include "cli/usage.h"
#include "fmt/format.h"
#include "hlo_run/version.h"
#include "mpi/launch.h"

namespace hlo::cli {
namespace {

struct Subcommand {
  std::string_view name;
  void (*add)(CLI::App& program, int& exit_status);
};

constexpr Subcommand kSubcommands[] = {
    {"run", AddRun},           {"verify", AddVerify},   {"print", AddPrint},   {"check", AddCheck},
    {"extract", AddExtract},   {"inputs", AddInputs},   {"stats", AddStats},   {"diff", AddDiff},
    {"minimize", AddMinimize}, {"slice", AddSlice},     {"graph", AddGraph},   {"plan", AddPlan},
    {"profile", AddProfile},   {"trace", AddTrace},     {"shadow", AddShadow}, {"devices", AddDevices},
    {"ops", AddOps},           {"explain", AddExplain}, {"docs", AddDocs}};

const Subcommand* FindSubcommand(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSubcommands), std::end(kSubcommands),
                                   [&](const Subcommand& each) { return each.name == name; });
  return found == std::end(kSubcommands) ? nullptr : found;
}

// Returns the words of the command line, after `run` if the first one is neither a subcommand nor a flag of
// the program.
std::vector<std::string> WithSubcommand(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return words;
  const std::string& first = words.front();
  if (FindSubcommand(first) == nullptr && first != "-h" && first != "--help" && first != "--version")
    words.insert(words.begin(), "run");
  return words;
}

// Adds the subcommand that these words use; all of them for the program's help and for `docs`. The flags of
// all subcommands take a third of the time in which the program starts.
void AddSubcommands(CLI::App& program, const std::vector<std::string>& words, int& exit_status) {
  const Subcommand* used = words.empty() ? nullptr : FindSubcommand(words.front());
  if (used != nullptr && used->add != AddDocs) return used->add(program, exit_status);
  for (const Subcommand& each : kSubcommands) each.add(program, exit_status);
}

std::vector<std::string_view> SubcommandNames() {
  std::vector<std::string_view> names;
  for (const Subcommand& each : kSubcommands) names.push_back(each.name);
  return names;
}

int RunCommand(int argc, char** argv) {
  CatchInterrupts();
  const CancelScope cancel(&interrupt_flag);
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
  std::vector<std::string> words = WithSubcommand(argc, argv);
  AddSubcommands(program, words, exit_status);
  program.failure_message(UsageMessage);
  if (argc == 1) {
    fmt::print(stderr, "{}", program.help());
    return 2;
  }
  if (const std::string meant = MisspelledSubcommand(argv[1], SubcommandNames()); !meant.empty()) {
    fmt::print(stderr, "hlo-run: error: '{}' is neither a subcommand nor a file; did you mean '{}'?\n",
               argv[1], meant);
    return 2;
  }
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
