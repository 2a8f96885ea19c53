// Implements `run`: evaluates a module and prints or stores the result.

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "base/activity.h"
#include "base/clock.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/file_host.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/limit_loops.h"
#include "cli/output_names.h"
#include "cli/value_text.h"
#include "debug/diff/cross_check.h"
#include "debug/trace/origins.h"
#include "device/gpu.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/io.h"
#include "types/wide.h"

namespace hlo::cli {
namespace {

// A seed of --rng-seed FILE=SEED.
struct FileSeed {
  std::string file;
  uint64_t seed = 0;
};

struct RunOptions {
  CommonOptions common;
  InputOptions inputs;
  EngineOptions engine;
  HostOptions host;
  DevicesFlags devices;
  CustomCallOptions custom_calls;
  std::string output;
  bool timing = false;
  bool fail_on_nan = false;
  bool full = false, summary = false;
  bool cross_check = false;
  std::string write_case;
  int64_t repeat = 1;
  int64_t while_limit = -1;  // -1 means no limit.
  EvaluateOptions evaluate = {.cancel = &interrupt_flag};
  std::vector<FileSeed> seeds;
};

struct Timing {
  double plan_s = 0;
  double first_run_s = 0;
  double run_s = std::numeric_limits<double>::infinity();
};

// Writes the values that the devices send to their hosts.
absl::Status FinishHosts(const HostOptions& options, const DeviceResults& names,
                         const std::vector<std::unique_ptr<FileHost>>& hosts) {
  if (hosts.size() == 1 || options.outfeed.empty()) return hosts[0]->Finish();
  std::vector<std::string> prefixes;
  std::vector<Literal> given;
  for (size_t d = 0; d < hosts.size(); ++d) {
    prefixes.push_back(names.names[d] + "/");
    given.push_back(Literal::Tuple(hosts[d]->given()));
  }
  return WriteUnderPrefixes(options.outfeed, prefixes, given);
}

// Returns warnings of the targets of --custom-call that the module does not call.
std::string UnusedTargets(const CustomCallOptions& options, const Module& module) {
  absl::flat_hash_set<std::string_view> called;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kCustomCall)
        called.insert(instruction->Get<attr::custom_call_target>());
    }
  }
  std::string warnings;
  for (const std::string_view text : options.modules) {
    const std::string_view target = text.substr(0, text.find('='));
    if (!called.contains(target))
      warnings +=
          fmt::format("warning: --custom-call {} is not used: the module has no call of it\n", target);
  }
  return warnings;
}

// Runs the module on all devices. Warnings of the last run go to `result`.
absl::StatusOr<std::vector<Literal>> Evaluate(const RunOptions& options, Executable& executable,
                                              std::vector<std::vector<Literal>> arguments,
                                              const EvaluateOptions& evaluate, const DeviceResults& names,
                                              Timing& timing, FileResult& result) {
  absl::StatusOr<std::vector<Literal>> values = absl::InternalError("not run");
  for (int64_t run = 0; run < options.repeat; ++run) {
    values = std::vector<Literal>();  // Frees the results of the previous run.
    std::vector<std::unique_ptr<FileHost>> hosts;
    for (size_t d = 0; d < names.names.size(); ++d) hosts.push_back(std::make_unique<FileHost>(options.host));
    std::string warnings;
    DevicesOptions devices = OptionsOf(options.devices);
    devices.host = [&](int64_t device) { return hosts[static_cast<size_t>(device)].get(); };
    devices.warn = [&](const std::string& warning) { warnings += fmt::format("warning: {}\n", warning); };
    const double start = SteadySeconds();
    // Only the arguments of a single run may be updated in place.
    values = executable.RunDevices(options.repeat > 1 ? arguments : std::exchange(arguments, {}), evaluate,
                                   devices);
    const double seconds = SteadySeconds() - start;
    if (run + 1 == options.repeat || !values.ok()) result.diagnostics += warnings;
    if (!values.ok()) return values;
    HLO_RETURN_IF_ERROR(FinishHosts(options.host, names, hosts));
    if (const std::string unused = hosts[0]->UnusedText(); run + 1 == options.repeat && !unused.empty())
      result.diagnostics += fmt::format("warning: {}\n", unused);
    if (run == 0)
      timing.first_run_s = seconds;
    else
      timing.run_s = std::min(timing.run_s, seconds);
  }
  if (options.repeat == 1) timing.run_s = timing.first_run_s;
  return values;
}

bool HasNan(const Literal& value) {
  for (const Literal& element : value.elements()) {
    if (HasNan(element)) return true;
  }
  if (!value.shape().IsArray() || !(IsFloat(value.type()) || IsComplex(value.type()))) return false;
  return DispatchWide(value.type(), [&]<class W>() {
    if constexpr (std::is_same_v<W, double> || std::is_same_v<W, std::complex<double>>) {
      const LoadFn<W> load = Loader<W>(value.type());
      for (int64_t i = 0; i < value.element_count(); ++i) {
        const W element = load(value.data(), i);
        if (std::isnan(std::real(element)) || std::isnan(std::imag(element))) return true;
      }
    }
    return false;
  });
}

// Fails with the position of the first NaN in the result, and with the instructions that produced it.
void ReportNan(const RunOptions& options, const CheckedModule& module, std::vector<Literal> arguments,
               EvaluateOptions evaluate, const std::string& file, FileResult& result) {
  FileHost host(options.host);
  evaluate.host = &host;
  evaluate.observer = nullptr;
  const absl::StatusOr<debug::OriginReport> report =
      debug::FindOrigins(module, std::move(arguments), options.engine.engine, evaluate, {});
  std::string text = fmt::format("{}: error: the result contains a NaN", file);
  if (report.ok() && !report->results.empty()) {
    text += "\n" + debug::ToString(*report, module.module());
    text.pop_back();
    result.extra["origins"] = debug::ToJson(*report);
  }
  result.Fail(Exit::kFailed, text);
}

// Fails with the devices whose results hold a NaN.
void ReportNanOfDevices(const DeviceResults& results, const std::string& file, FileResult& result) {
  std::vector<size_t> members;
  for (size_t d = 0; d < results.values.size(); ++d) {
    if (HasNan(results.values[d])) members.push_back(d);
  }
  if (members.empty()) return;
  result.Fail(
      Exit::kFailed,
      fmt::format("{}: error: the result of {} contains a NaN; hlo-run trace --nans --for-device finds "
                  "the instruction that made it",
                  file, NamesOf(results, members)));
}

// Returns the result as text, which is abbreviated on a terminal.
std::string ResultText(const RunOptions& options, const Literal& value) {
  if (options.summary) return StatisticsText(value);
  const bool is_short = isatty(STDOUT_FILENO) != 0 && !options.full && !options.common.json;
  return (is_short ? SummarisedText(value) : ToString(value, {.shapes = true, .layouts = false})) + "\n";
}

// Returns the results of all devices; results with equal bits are printed once, under the names of their
// devices.
std::string ResultsText(const RunOptions& options, const DeviceResults& results) {
  if (results.values.size() == 1) return ResultText(options, results.values[0]);
  std::string text;
  for (const std::vector<size_t>& members : EqualResults(results))
    text +=
        fmt::format("{}:\n{}", NamesOf(results, members), ResultText(options, results.values[members[0]]));
  return text;
}

// Returns one(result) of the only result or of the result that all devices share; otherwise an object with
// that of each device by name.
template <class F>
Json ResultsJson(const DeviceResults& results, const F& one) {
  if (results.values.size() == 1 || EqualResults(results).size() == 1) return one(results.values[0]);
  Json json = Json::object();
  for (size_t d = 0; d < results.values.size(); ++d) json[results.names[d]] = one(results.values[d]);
  return json;
}

// Runs both engines and compares their values step by step.
absl::Status CrossCheck(const RunOptions& options, const CheckedModule& module,
                        const std::vector<Literal>& arguments, const EvaluateOptions& evaluate,
                        FileResult& result) {
  HLO_ASSIGN_OR_RETURN(const debug::CrossCheck check,
                       debug::RunCrossCheck(module, arguments, evaluate, {.plan = options.engine.plan}));
  result.text = debug::ToString(check);
  result.extra["cross_check"] = debug::ToJson(check);
  if (!check.first) return absl::OkStatus();
  result.exit = std::max(result.exit, Exit::kFailed);
  const std::string folder = options.write_case.empty() ? "cross-check-case" : options.write_case;
  HLO_RETURN_IF_ERROR(debug::WriteCase(folder, module, arguments, check));
  result.text +=
      fmt::format("  {} written to {}; run it by hlo-run check {}\n",
                  check.part.empty() ? "the module is" : "a case of this instruction is", folder, folder);
  return absl::OkStatus();
}

// Adds the times, or the results as text or JSON, to the report of the file.
void AddReport(const RunOptions& options, const DeviceResults& results, const LoadedModule& loaded,
               const Timing& timing, bool prints, FileResult& result) {
  if (options.timing) {
    result.extra.update(Json{{"parse_s", loaded.seconds.parse},
                             {"check_s", loaded.seconds.check},
                             {"plan_s", timing.plan_s},
                             {"first_run_s", timing.first_run_s},
                             {"run_s", timing.run_s},
                             {"runs", options.repeat},
                             {"peak_bytes", BufferMemoryUse().peak_bytes}});
  } else if (prints || options.summary) {
    result.text = ResultsText(options, results);
    if (options.summary)
      result.extra["summary"] = ResultsJson(results, [](const Literal& v) { return StatisticsJson(v); });
    else if (options.common.json)
      result.extra["outputs"] = ResultsJson(results, [](const Literal& v) { return Json::parse(ToJson(v)); });
  }
}

// Adds the shape of the result, and the devices.
void AddFacts(const DeviceRun& run, const DeviceResults& results, FileResult& result) {
  result.extra["result"] = ToString(results.values[0].shape());
  if (!run.has_several()) return;
  result.extra["replicas"] = run.grid.replicas;
  result.extra["partitions"] = run.grid.partitions;
  result.extra["agree"] = EqualResults(results).size() == 1;
}

// Returns the options with the seed of the file.
EvaluateOptions EvaluateOptionsFor(const std::string& file, const RunOptions& options) {
  EvaluateOptions evaluate = options.evaluate;
  for (const FileSeed& each : options.seeds) {
    if (each.file == file) evaluate.seed = each.seed;
  }
  return evaluate;
}

// Reports the first --rng-seed of a file that is not among the modules. Returns false if there is one.
bool SeedsAreUsed(const RunOptions& options, const std::set<std::string>& files) {
  for (const FileSeed& each : options.seeds) {
    if (files.contains(each.file)) continue;
    fmt::print(stderr, "hlo-run: error: --rng-seed {}={}: there is no module '{}'\n", each.file, each.seed,
               each.file);
    return false;
  }
  return true;
}

void Run(const RunOptions& options, OutputNames* names, const std::string& file, FileResult& result) {
  const LoadedModule loaded = Load(file, options.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  CheckedModule module = loaded.checked.front();
  if (options.while_limit >= 0) {
    absl::StatusOr<CheckedModule> limited =
        LimitLoops(*loaded.module, options.while_limit, {.max_nesting = options.common.max_nesting});
    if (!result.Accept(limited.status(), file)) return;
    module = *std::move(limited);
  }
  CustomCalls custom_calls;
  if (!AddCustomCalls(options.custom_calls, options.common, custom_calls, result)) return;
  EvaluateOptions evaluate = EvaluateOptionsFor(file, options);
  if (!options.custom_calls.empty()) evaluate.custom_calls = &custom_calls;
  if (names == nullptr) result.diagnostics += UnusedTargets(options.custom_calls, *loaded.module);
  Report({.what = "planning " + file});
  Timing timing;
  const double start = SteadySeconds();
  absl::StatusOr<Executable> executable =
      Executable::Make(module, options.engine.engine, evaluate, options.engine.device, options.engine.plan);
  if (!result.Accept(executable.status(), file)) return;
  timing.plan_s = SteadySeconds() - start;
  if (!result.Accept(RequireElements(loaded), file)) return;
  absl::StatusOr<DeviceRun> run = MakeDeviceRun(options.inputs, options.common, options.devices, loaded);
  if (!result.Accept(run.status(), file)) return;
  run->whole.clear();
  if (options.cross_check) {
    const absl::Status one = RequireOneDevice("--cross-check", run->grid,
                                              "--engine=reference prints the values of the other engine");
    if (!result.Accept(one, file)) return;
    result.Accept(CrossCheck(options, module, run->arguments[0], evaluate, result), file);
    return;
  }
  // Sharing the arguments keeps them from being updated in place.
  const std::vector<Literal> kept =
      options.fail_on_nan && !run->has_several() ? run->arguments[0] : std::vector<Literal>();
  ResetPeakMemoryUse();
  Report({.what = "running " + file});
  if (!options.timing) evaluate.observer = result.progress;
  absl::StatusOr<std::vector<Literal>> values = Evaluate(options, *executable, std::move(run->arguments),
                                                         evaluate, NamesOfDevices(run->grid), timing, result);
  result.diagnostics += RefusalText(*executable, file);
  if (options.engine.explain_fallbacks) result.diagnostics += FallbacksText(*executable);
  if (!result.Accept(values.status(), file)) return;
  const absl::StatusOr<DeviceResults> results = ResultsOf(*run, *std::move(values));
  if (!result.Accept(results.status(), file)) return;
  for (const std::string& warning : results->warnings)
    result.diagnostics += fmt::format("{}: warning: {}\n", file, warning);

  AddFacts(*run, *results, result);
  const absl::StatusOr<std::string> output = names == nullptr ? options.output : names->For(file, ".npz");
  if (!result.Accept(output.status(), file)) return;
  if (!output->empty()) result.extra["output"] = *output;
  if (!output->empty()) Report({.what = "writing " + *output});
  if (!output->empty() && !result.Accept(WriteResults(*output, *results, module.module()), file)) return;
  if (options.fail_on_nan && run->has_several())
    ReportNanOfDevices(*results, file, result);
  else if (options.fail_on_nan && HasNan(results->values[0]))
    ReportNan(options, module, kept, evaluate, file, result);
  AddReport(options, *results, loaded, timing, output->empty(), result);
}

// A directory counts as the files below it.
bool HasSeveralFiles(const std::vector<std::string>& files) {
  std::error_code error;
  return files.size() > 1 || (files.size() == 1 && std::filesystem::is_directory(files[0], error));
}

void AddSeeds(const std::vector<std::string>& texts, RunOptions& options) {
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
    uint64_t seed = 0;
    if (!absl::SimpleAtoi(number, &seed))
      throw CLI::ValidationError("--rng-seed", fmt::format("'{}' is not a whole number", number));
    if (equals == std::string::npos)
      options.evaluate.seed = seed;
    else
      options.seeds.push_back({text.substr(0, equals), seed});
  }
}

using SharedOptions = std::shared_ptr<RunOptions>;

void AddOutputFlags(CLI::App& command, const SharedOptions& options) {
  command
      .add_option("-o,--output", options->output,
                  "Store the result: .npz, .npy, .safetensors, .json, .txt, .pb, .pbtxt or .bin. DIR/ is "
                  "created and gets an .npz file for each module, in the folder structure of the modules")
      ->type_name("FILE");
  command.add_flag("--full", options->full, "Print all elements of large results on a terminal, too");
  command.add_flag("--summary", options->summary,
                   "Print shape, minimum, maximum, mean, NaN and Inf of each result instead of its elements");
}

void AddCheckFlags(CLI::App& command, const SharedOptions& options) {
  command.add_option("--repeat", options->repeat, "Evaluate this many times")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--timing", [options](const std::string&) { options->timing = true; },
          "json: print seconds and peak bytes, a JSON line for each file")
      ->check(CLI::IsMember({"json"}));
  command.add_flag("--fail-on-nan", options->fail_on_nan,
                   "Exit with status 1 if the result contains a NaN; report its index and the instruction "
                   "that produced it");
  CLI::Option* cross_check = command.add_flag(
      "--cross-check", options->cross_check,
      "Run both engines side by side and report the first step that differs beyond rounding, "
      "with its operands; exit status 1 if there is one");
  command
      .add_option("--write-case", options->write_case,
                  "With --cross-check, the folder of the case that shows the difference")
      ->type_name("DIR")
      ->needs(cross_check)
      ->default_str("cross-check-case");
}

// Adds the flags of EvaluateOptions.
void AddEvaluationFlags(CLI::App& command, const SharedOptions& options) {
  command.add_flag("--dot-algorithms", options->evaluate.emulate_dot_algorithms,
                   "Emulate the algorithm= of dots, which splits and rounds their operands");
  command
      .add_option_function<std::vector<std::string>>(
          "--rng-seed", [options](const std::vector<std::string>& texts) { AddSeeds(texts, *options); },
          "Seed of the random numbers that the module itself draws, for example by rng; FILE=SEED for one "
          "file")
      ->type_name("[FILE=]SEED")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--while-limit", options->while_limit, "End each while loop after this many iterations")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command.add_option("--max-steps", options->evaluate.max_steps, "Maximum number of executed instructions")
      ->check(CLI::PositiveNumber);
  AddMaxSecondsFlag(command, options->evaluate.max_seconds);
  command.add_option("--max-call-depth", options->evaluate.max_call_depth, "Maximum depth of nested calls")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

void AddRun(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = program.add_subcommand("run", "Evaluate modules and print or store their results");
  AddCommonFlags(*command, options->common);
  AddInputFlags(*command, options->inputs);
  AddElidedFlag(*command, options->common.elided);
  AddDevicesFlags(*command, options->common, options->devices);
  AddMatchFlag(*command, options->devices);
  AddHostFlags(*command, options->host);
  AddCustomCallFlags(*command, options->custom_calls);
  AddOutputFlags(*command, options);
  AddEngineFlags(*command, options->engine);
  AddCheckFlags(*command, options);
  AddEvaluationFlags(*command, options);
  command->footer(
      "Examples:\n"
      "  hlo-run m.hlo --input x.npy --input 'f32[2]{1,2}'\n"
      "  hlo-run m.hlo --input args.npz --output result.npz\n"
      "  hlo-run m.hlo --random 1 --repeat 10 --timing=json\n"
      "  hlo-run partitioned.hlo --random 1 --shard --output whole.npz\n"
      "Several devices: names and keys may belong to some of them, as in --input r1/x=x.npy, or the key "
      "p2/0\n"
      "of an archive: replica 1 of all partitions, partition 2 of all replicas; r1p2/0 is one device.\n"
      "Results are stored under the same keys.");
  command->callback([options, &exit_status] {
    options->common.json |= options->timing;
    std::optional<OutputNames> names;
    if (IsOutputDirectory(options->output)) names.emplace(options->output, options->common.files);
    if (!options->output.empty() && !names && HasSeveralFiles(options->common.files)) {
      throw CLI::ValidationError("--output", "with several files, a directory and a slash: --output DIR/");
    }
    if (!names) options->common.single_output = options->output;
    // The context is made while the module and its inputs are read.
    const Device& device = options->engine.device;
    if (device.kind == Device::Kind::kGpu) device::PrepareGpu(device.number);
    std::set<std::string> files;
    exit_status = ForEachFile(options->common, [&](const std::string& file, FileResult& result) {
      files.insert(file);
      Run(*options, names ? &*names : nullptr, file, result);
    });
    if (!files.empty() && !IsInterrupted() && !SeedsAreUsed(*options, files))
      exit_status = std::max(exit_status, static_cast<int>(Exit::kInvalid));
  });
}

}  // namespace hlo::cli
