// Implements `check`: runs cases and golden folders.

#include <cstdio>
#include <map>

#include "base/activity.h"
#include "base/counted.h"
#include "base/status.h"
#include "cli/check_against.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/mpi_launch.h"
#include "device/gpu.h"
#include "fmt/format.h"
#include "hlo_run/conform.h"
#include "hlo_run/run.h"

namespace hlo::cli {
namespace {

struct CheckCommandOptions {
  std::vector<std::string> paths;
  std::string filter;
  bool json = false;
  std::string junit;
  bool update = false, update_values = false, verbose = false, require_all = false;
  uint64_t max_memory = 0;
  EvaluateOptions evaluate = {.cancel = &interrupt_flag};
  EngineOptions engine;
  ElidedValues elided;
  AgainstFlags against;
};

Exit ExitForCase(const CaseResult& result, bool require_all) {
  switch (result.verdict) {
    case Verdict::kPassed:
      return Exit::kOk;
    case Verdict::kFailed:
      return Exit::kFailed;
    case Verdict::kUnsupported:
      return require_all ? Exit::kUnsupported : Exit::kOk;
    case Verdict::kError:
      return Exit::kInvalid;
  }
  return Exit::kInvalid;
}

int Fail(const absl::Status& status) {
  fmt::print(stderr, "hlo-run: error: {}\n", Message(status));
  return static_cast<int>(ExitFor(status));
}

absl::StatusOr<int64_t> Update(const std::vector<Case>& cases, const CheckCommandOptions& options) {
  std::map<std::string, bool> files;
  for (const Case& one : cases) {
    if (!one.is_golden()) files[one.path] = true;
  }
  int64_t changed = 0;
  for (const auto& [path, unused] : files) {
    UpdateOptions update;
    update.values = options.update_values;
    update.evaluate = [&](const CheckedModule& module, std::vector<Literal> arguments, Host* host) {
      EvaluateOptions evaluate_options = options.evaluate;
      evaluate_options.host = host;
      return Evaluate(module, std::move(arguments), evaluate_options);
    };
    HLO_ASSIGN_OR_RETURN(const int64_t here, UpdateCaseFile(path, update));
    if (here > 0) fmt::print("{}: {} rewritten\n", path, Counted(here, "case"));
    changed += here;
  }
  return changed;
}

absl::StatusOr<Literal> Run(const EngineOptions& engine, const CheckedModule& module,
                            std::vector<Literal> arguments, const EvaluateOptions& evaluate) {
  if (engine.device.kind == Device::Kind::kCpu)
    return Execute(module, std::move(arguments), engine.engine, evaluate, engine.device, engine.plan);
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, engine.engine, evaluate, engine.device, engine.plan));
  absl::StatusOr<Literal> value = executable.Run(std::move(arguments), evaluate);
  if (engine.explain_fallbacks) fmt::print(stderr, "{}", FallbacksText(executable));
  return value;
}

int RunCheckAgainst(const CheckCommandOptions& options) {
  AgainstFlags flags = options.against;
  flags.options.engine = options.engine.engine;
  flags.options.elided = options.elided;
  flags.options.filter = options.filter;
  if (options.evaluate.max_seconds > 0) flags.options.max_seconds = options.evaluate.max_seconds;
  return RunAgainst(std::move(flags), options.paths, options.json, options.junit, options.verbose);
}

// True if the path or the name of the case contains the text.
bool Matches(const Case& one, const std::string& text) {
  return one.path.find(text) != std::string::npos || one.name.find(text) != std::string::npos;
}

CaseEvaluator EvaluatorOf(const CheckCommandOptions& options) {
  const EvaluateFn evaluate = [&options](const CheckedModule& module, std::vector<Literal> arguments,
                                         Host* host) {
    EvaluateOptions evaluate_options = options.evaluate;
    if (host != nullptr) evaluate_options.host = host;
    return Run(options.engine, module, std::move(arguments), evaluate_options);
  };
  const EvaluateDevicesFn evaluate_devices =
      [&options](const CheckedModule& module, std::vector<std::vector<Literal>> arguments,
                 bool emulate_xla_cpu) -> absl::StatusOr<std::vector<Literal>> {
    const EngineOptions& engine = options.engine;
    HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, engine.engine, options.evaluate,
                                                                 engine.device, engine.plan));
    return executable.RunDevices(std::move(arguments), options.evaluate,
                                 {.emulate_xla_cpu = emulate_xla_cpu, .processes = LaunchedProcesses()});
  };
  return {evaluate, evaluate_devices};
}

void Print(const CaseResult& result) {
  const std::string place = result.line > 0 ? fmt::format(":{}", result.line) : "";
  fmt::print("{}: {}{}: {}\n{}", hlo::Name(result.verdict), result.path, place, result.name,
             result.report.empty() || result.report.ends_with('\n') ? result.report : result.report + "\n");
}

// Runs the cases until Ctrl-C, and prints those that did not pass.
std::vector<CaseResult> RunCases(absl::Span<const Case> cases, const CheckCommandOptions& options) {
  const CaseEvaluator evaluator = EvaluatorOf(options);
  std::vector<CaseResult> results;
  TerminalProgress progress;
  for (const Case& one : cases) {
    Report({.what = "checking " + one.path,
            .done = static_cast<int64_t>(results.size()),
            .total = static_cast<int64_t>(cases.size()),
            .unit = "cases"});
    CaseResult result = RunCase(one, evaluator, options.elided);
    if (IsInterrupted()) break;
    if ((options.verbose || result.verdict != Verdict::kPassed) && !options.json) {
      progress.Erase();
      Print(result);
    }
    results.push_back(std::move(result));
  }
  progress.End();
  return results;
}

int RunCheck(const CheckCommandOptions& options) {
  if (options.max_memory > 0) SetMemoryLimit(static_cast<int64_t>(options.max_memory));
  if (!options.against.options.command.empty()) return RunCheckAgainst(options);
  absl::StatusOr<std::vector<Case>> cases = FindCases(options.paths);
  if (!cases.ok()) return Fail(cases.status());
  std::erase_if(*cases, [&](const Case& one) { return !Matches(one, options.filter); });
  if (cases->empty()) {
    return Fail(absl::NotFoundError(fmt::format(
        "no cases{} below {}", options.filter.empty() ? "" : fmt::format(" that match '{}'", options.filter),
        fmt::join(options.paths, ", "))));
  }
  if (options.update || options.update_values) {
    const absl::StatusOr<int64_t> changed = Update(*cases, options);
    if (!changed.ok()) return Fail(changed.status());
    fmt::print("{} of {} rewritten; read the difference before you keep it\n", *changed,
               Counted(cases->size(), "case"));
    return 0;
  }

  if (options.engine.device.kind == Device::Kind::kGpu) {
    const auto gpus = device::ListGpus();
    if (!gpus.ok()) return Fail(gpus.status());
  }
  const std::vector<CaseResult> results = RunCases(*cases, options);
  fmt::print("{}\n", options.json ? ConformJson(results) : ToString(Summarize(results)));
  if (!options.junit.empty()) {
    const absl::Status written = WriteOutput(options.junit, ConformJUnit(results));
    if (!written.ok()) return Fail(written);
  }
  Exit worst = Exit::kOk;
  for (const CaseResult& result : results) worst = std::max(worst, ExitForCase(result, options.require_all));
  return static_cast<int>(worst);
}

}  // namespace

void AddCheck(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<CheckCommandOptions>();
  CLI::App* command = program.add_subcommand(
      "check", "Run golden folders, case files and snapshots; compare the results with the expected ones");
  command
      ->add_option("paths", options->paths,
                   "Golden folders, case files, snapshots (.pb, .pbtxt), or directories of them")
      ->type_name("PATH")
      ->required();
  command->add_option("--filter", options->filter, "Run only cases whose path or name contains this text")
      ->type_name("TEXT");
  command
      ->add_option_function<std::string>(
          "--format", [options](const std::string& format) { options->json = format == "json"; },
          "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  command->add_option("--junit", options->junit, "Write a JUnit XML report too")->type_name("FILE");
  command->add_flag("--verbose", options->verbose, "Show passed cases too, with their largest error");
  command->add_flag("--require-all", options->require_all,
                    "Exit with status 3 if a case could not be evaluated");
  AddEngineFlags(*command, options->engine);
  options->engine.plan.replan_if_refused = false;  // A case whose plan is wrong fails.
  command->add_flag("--update", options->update,
                    "Rewrite the diagnostics and prints that inline cases expect");
  command->add_flag("--update-values", options->update_values,
                    "Rewrite their values too. Review the difference: this program must not define its own "
                    "expected values");
  AddElidedFlag(*command, options->elided);
  command->add_option("--max-memory", options->max_memory, "Limit of the total size of all values, in bytes")
      ->transform(ByteSize())
      ->type_name("BYTES");
  command->add_option("--max-seconds", options->evaluate.max_seconds, "Time limit for a case, in seconds")
      ->check(PositiveReal());
  AddAgainstFlags(*command, options->against);
  command->footer(
      "Exit status: 1 if a case failed, 2 if a case is malformed.\n"
      "Examples:\n  hlo-run check golden/\n  hlo-run check tests/cases --filter gather --junit report.xml\n"
      "  hlo-run check golden/ dumps/ --against 'python3 tools/drivers/jax_cpu.py {hlo} {inputs} {outputs}' "
      "--html "
      "report.html");
  command->callback([options, &exit_status] { exit_status = RunCheck(*options); });
}

}  // namespace hlo::cli
