// Implements `minimize`: finds the smallest module and inputs that a judge accepts.

#include "base/counted.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/single.h"
#include "debug/minimize/minimize.h"
#include "fmt/format.h"
#include "hlo_run/print.h"

namespace hlo::cli {
namespace {

struct MinimizeFlags {
  CommonOptions common;
  InputOptions inputs;
  DevicesFlags devices;
  std::string command, recorded, against;
  bool nan = false;
  debug::JudgeOptions judge;
  debug::MinimizeOptions minimize;
};

absl::StatusOr<debug::SharedCase> CaseOf(const MinimizeFlags& flags, const LoadedModule& loaded) {
  HLO_RETURN_IF_ERROR(RequireElements(loaded));
  HLO_ASSIGN_OR_RETURN(const DeviceRun run, MakeDeviceRun(flags.inputs, flags.common, flags.devices, loaded));
  std::vector<Literal> inputs;
  for (size_t i = 0; i < run.arguments[0].size(); ++i) {
    std::vector<Literal> by_device;
    for (const std::vector<Literal>& own : run.arguments) by_device.push_back(own[i]);
    inputs.push_back(debug::AllDevices(std::move(by_device)));
  }
  PrintOptions print;
  print.own_order = true;
  return debug::MakeTestCase(Print(*loaded.module, print), std::move(inputs));
}

absl::StatusOr<std::unique_ptr<debug::CaseJudge>> JudgeOf(const MinimizeFlags& flags,
                                                          const CheckedModule& module,
                                                          const debug::TestCase& test) {
  if (!flags.command.empty()) return debug::MakeCommandJudge(flags.command, flags.judge);
  if (!flags.against.empty()) return debug::MakeAgainstJudge(flags.against, flags.judge);
  if (!flags.recorded.empty()) return debug::MakeRecordedJudge(flags.recorded, module, flags.judge);
  return debug::MakeNanJudge(test, flags.judge);
}

void ReportMinimized(const debug::MinimizeResult& minimized, const std::string& folder, FileResult& result) {
  const debug::CaseSize after = SizeOf(*minimized.test);
  result.text =
      fmt::format("{}{} of {}, {} of inputs of {}; {} judged, in {}\n",
                  minimized.is_finished ? "" : "stopped early: ", Counted(after.instructions, "instruction"),
                  minimized.before.instructions, Counted(after.elements, "element"),
                  minimized.before.elements, Counted(minimized.judged, "candidate"), folder);
  result.extra["instructions"] = {minimized.before.instructions, after.instructions};
  result.extra["elements"] = {minimized.before.elements, after.elements};
  result.extra["judged"] = minimized.judged;
  result.extra["resumed"] = minimized.is_resumed;
  result.extra["finished"] = minimized.is_finished;
  result.extra["text"] = minimized.test->text;
}

void RunMinimize(MinimizeFlags& flags, FileResult& result) {
  const std::string& file = flags.common.files[0];
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  const absl::StatusOr<debug::SharedCase> test = CaseOf(flags, loaded);
  if (!result.Accept(test.status(), file)) return;
  const absl::StatusOr<std::unique_ptr<debug::CaseJudge>> judge =
      JudgeOf(flags, loaded.checked.front(), **test);
  if (!result.Accept(judge.status(), file)) return;
  if (!flags.common.json)
    flags.minimize.report = [&](const std::string& text) {
      if (result.progress != nullptr) result.progress->Erase();
      fmt::print(stderr, "{}\n", text);
    };
  const absl::StatusOr<debug::MinimizeResult> minimized = debug::Minimize(*test, **judge, flags.minimize);
  if (!result.Accept(minimized.status(), file)) return;
  ReportMinimized(*minimized, flags.minimize.folder, result);
}

void AddJudgeFlags(CLI::App& command, MinimizeFlags& flags) {
  CLI::Option_group* judges =
      command.add_option_group("judge", "The property that the smaller module must keep");
  judges
      ->add_option("--judge", flags.command,
                   "A command that exits with status 0 if the module has the property. {} or {hlo} stands "
                   "for the module, {inputs} for an archive of its inputs (.npz)")
      ->type_name("COMMAND");
  judges->add_flag("--judge-nan", flags.nan,
                   "Its result contains a NaN. Its inputs and constants contain none unless those of the "
                   "original module do");
  judges
      ->add_option("--judge-diff", flags.recorded,
                   "A result differs from the one that another system recorded, keyed by position (0, 1) or "
                   "by name of the instruction")
      ->type_name("FILE");
  judges
      ->add_option("--judge-against", flags.against,
                   "A command runs {hlo} with {inputs} and writes other results to {outputs} (.npz)")
      ->type_name("COMMAND");
  judges->require_option(1);
}

}  // namespace

void AddMinimize(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<MinimizeFlags>();
  CLI::App* command =
      program.add_subcommand("minimize", "Reduce a module and its inputs as far as a problem still occurs");
  AddCommonFlags(*command, flags->common);
  AddInputFlags(*command, flags->inputs);
  AddGridFlags(*command, flags->common);
  AddShardFlags(*command, flags->common, flags->devices,
                "Split whole arguments by the shardings of the parameters");
  AddElidedFlag(*command, flags->common.elided);
  AddJudgeFlags(*command, *flags);
  AddEngineFlag(*command, flags->judge.engine);
  AddToleranceFlag(*command, flags->judge.rule);
  command
      ->add_option("-o,--output", flags->minimize.folder,
                   "The folder for the result, which is a golden case. If it is the folder of an earlier run "
                   "with the same judge, that run continues")
      ->type_name("FOLDER")
      ->required();
  command
      ->add_option("-j,--jobs", flags->minimize.jobs,
                   "Candidates to judge at the same time; default: one per core")
      ->check(CLI::PositiveNumber);
  command->add_option("--judge-seconds", flags->judge.max_seconds, "Time limit for one candidate, in seconds")
      ->check(PositiveReal())
      ->capture_default_str();
  command
      ->add_option("--max-seconds", flags->minimize.max_seconds,
                   "Stop after this many seconds and keep the smallest case so far")
      ->check(PositiveReal());
  command->footer(
      "Drops outputs, computations and loop iterations, replaces instructions by recorded values, inlines\n"
      "fusions, and shrinks dimensions. Every candidate is a valid module. Candidates with collectives keep "
      "all\n"
      "devices; the keys of their archives name devices, such as r1/0.\n"
      "Examples:\n"
      "  hlo-run minimize m.hlo --random 1 --judge-nan -o small/\n"
      "  hlo-run minimize m.hlo --random 1 --judge './crashes.sh {}' -o small/\n"
      "  hlo-run minimize m.hlo -i args.npz --judge-diff out.npz -o small/\n"
      "  hlo-run minimize m.hlo --random 1 --judge-against 'python3 tools/drivers/jax_cpu.py {hlo} {inputs} "
      "{outputs}' "
      "-o small/");
  command->callback([flags, &exit_status] {
    if (flags->common.files.size() != 1) throw CLI::ValidationError("minimize", "takes one module");
    flags->judge.cancel = flags->minimize.cancel = &interrupt_flag;
    exit_status = RunOnce(flags->common, [&](FileResult& result) { RunMinimize(*flags, result); });
  });
}

}  // namespace hlo::cli
