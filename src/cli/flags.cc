// Adds the flags that subcommands share.

#include "cli/flags.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "fmt/format.h"
#include "plan/passes.h"

namespace hlo::cli {
namespace {

constexpr int kMaxGpus = 1024;

// Reads a decimal or hexadecimal number of 64 bits.
bool ParseSeed(const std::string& text, uint64_t& seed) {
  return absl::SimpleAtoi(text, &seed) ||
         ((text.starts_with("0x") || text.starts_with("0X")) && absl::SimpleHexAtoi(text, &seed));
}

}  // namespace

CLI::Validator PositiveReal() {
  return CLI::Validator(
      [](std::string& text) {
        double number = 0;
        const bool is_positive = absl::SimpleAtod(text, &number) && std::isfinite(number) && number > 0;
        return is_positive ? std::string() : fmt::format("'{}' is not a positive number", text);
      },
      "POSITIVE");
}

CLI::Validator FiniteReal() {
  return CLI::Validator(
      [](std::string& text) {
        double number = 0;
        const bool is_finite = absl::SimpleAtod(text, &number) && std::isfinite(number);
        return is_finite ? std::string() : fmt::format("'{}' is not a finite number", text);
      },
      "");
}

CLI::Validator ByteSize() {
  const CLI::AsSizeValue known(false);
  return CLI::Validator(
      [known](std::string& text) {
        std::string bytes = text;
        std::string error;
        try {
          error = known(bytes);
        } catch (const CLI::ValidationError& unknown) {
          error = unknown.what();
        }
        uint64_t count = 0;  // Negative and very large numbers do not fit.
        if (!error.empty() || text.starts_with('-') || !absl::SimpleAtoi(bytes, &count))
          return fmt::format("'{}' is not a size such as 4096, 64k, 10MB or 2GiB", text);
        text = bytes;
        return std::string();
      },
      known.get_description());
}

void AddCommonFlags(CLI::App& app, CommonOptions& options) {
  app.add_option("files", options.files,
                 "HLO text or serialised modules (.pb, .pbtxt), also compressed (.gz, .zst); directories of "
                 "them, such "
                 "as dumps; or - for standard input")
      ->type_name("FILE")
      ->required();
  app.add_option("--module", options.module_pattern,
                 "In a dump, take the files whose module (module_0001.jit_f) this regular expression matches")
      ->type_name("REGEX");
  app.add_option("--pass", options.pass_pattern,
                 "In a dump, take the files whose pass (before_optimizations, "
                 "0003.fusion.after_dce.before_cse, snapshot.1) this regular expression matches")
      ->type_name("REGEX");
  app.add_option_function<std::string>(
         "--format", [&options](const std::string& format) { options.json = format == "json"; },
         "Output format: text, or json with one line per file. Several files always give json lines")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  app.add_flag("--strict", options.strict,
               "Reject everything that XLA rejects: older spellings and deviations that are otherwise "
               "warnings are errors");
  app.add_option("--max-errors", options.max_errors, "Stop after this many errors")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-nesting", options.max_nesting,
                 "Maximum nesting of shapes, operands, literals and bodies")
      ->check(CLI::Range(int64_t{1}, int64_t{100000}))
      ->capture_default_str();
  app.add_option("--max-literal-bytes", options.max_literal_bytes, "Maximum size of a constant, in bytes")
      ->transform(ByteSize())
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--max-memory", options.max_memory,
                 "Limit of the total size of all values, in bytes; default: the memory of the machine")
      ->transform(ByteSize())
      ->type_name("BYTES");
}

void AddElidedFlag(CLI::App& app, ElidedValues& elided) {
  app.add_option_function<std::vector<std::string>>(
         "--elided",
         [&elided](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const absl::Status status = AddElidedValues(text, &elided);
             if (!status.ok()) throw CLI::ValidationError("--elided", std::string(Message(status)));
           }
         },
         "Values for constants whose elements are elided in the text, {...}: zeros; random or random:SEED, "
         "generated like --random arguments; counter, the bytes 0 1 2 ... as in XLA's reader; NAME=FILE for "
         "one constant")
      ->type_name("VALUES")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

namespace {

// Splits `PARAM=VALUE`; the first part is empty without a name.
std::pair<std::string, std::string> SplitName(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// Adds a repeatable option whose values are [PARAM=]VALUE.
void AddForParameters(CLI::App& app, InputOptions& options, const std::string& name, const std::string& help,
                      const std::string& type_name,
                      const std::function<std::string(const std::string&, const std::string&)>& set) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [&options, name, set](const std::vector<std::string>& texts) {
           options.generates_values = true;
           for (const std::string& text : texts) {
             const auto [parameter, value] = SplitName(text);
             const std::string error = set(parameter, value);
             if (!error.empty())
               throw CLI::ValidationError(absl::StrReplaceAll(name, {{",", " or "}}), error);
           }
         },
         help)
      ->type_name(type_name)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace

void AddFillFlags(CLI::App& app, InputOptions& options) {
  MakeOptions& make = options.make;
  app.add_option_function<std::string>(
         "--random",
         [&options](const std::string& seed) {
           if (!ParseSeed(seed, options.make.seed))
             throw CLI::ValidationError("--random",
                                        fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", seed));
           options.generates_values = true;
         },
         "Generate arguments from this seed, except those that --input provides")
      ->type_name("SEED");
  const auto set_fill = [&make](const std::string& parameter, const std::string& word) -> std::string {
    const std::optional<InputFill> fill = ParseInputFill(word);
    if (!fill) return fmt::format("'{}' is not one of uniform, normal, log-uniform, zeros, ones, iota", word);
    if (parameter.empty())
      make.fill = *fill;
    else
      make.fills.emplace_back(parameter, *fill);
    return "";
  };
  AddForParameters(app, options, "--fill,--distribution",
                   "How to fill arguments, or one of them: uniform, normal, log-uniform, zeros, ones or iota",
                   "[PARAM=]NAME", set_fill);
  AddRandomRangeFlag(app, options, "--range,--random-range");
}

void AddRandomRangeFlag(CLI::App& app, InputOptions& options, const std::string& names) {
  const auto set_range = [&make = options.make](const std::string& parameter,
                                                const std::string& text) -> std::string {
    const absl::StatusOr<InputRange> range = ParseInputRange(text);
    if (!range.ok()) return std::string(Message(range.status()));
    if (parameter.empty())
      make.range = *range;
    else
      make.ranges.emplace_back(parameter, *range);
    return "";
  };
  AddForParameters(app, options, names,
                   "The range of random arguments, or of one of them, both ends included. Indices stay "
                   "within the indexed dimension",
                   "[PARAM=]LO:HI", set_range);
}

void AddInputFlags(CLI::App& app, InputOptions& options) {
  app.add_option(
         "-i,--input", options.files,
         "An argument: a .npy, .npz, .safetensors, .json, .txt, .pb, .pbtxt or .bin file, or a literal such "
         "as "
         "'f32[2]{1,2}', '{1,2}' or 2; by position, or as PARAM=...; repeatable. Several modules share them")
      ->type_name("VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag(
      "--convert", options.convert,
      "Convert arguments of another element type, s64 to s32 or f64 to f32; values out of range are errors");
  AddFillFlags(app, options);
}

void AddPlanFlags(CLI::App& app, PlanOptions& options) {
  const auto is_pass = [](const std::string& name) {
    return std::string(Message(plan::EnabledPasses({.disabled_passes = {name}}).status()));
  };
  app.add_option("--disable-pass", options.disabled_passes,
                 "Disable this pass of the planner; repeatable. hlo-run plan --passes lists the passes")
      ->type_name("NAME")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(is_pass, ""));
  app.add_option("--pass-limit", options.pass_limit,
                 "Stop the optional passes of the planner after N changes, to find a wrong change by "
                 "bisection. A change is one application of a rewrite")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_flag_callback(
      "--trust-plan", [&options] { options.validate = false; }, "Run the plan without validating it first");
  app.add_flag(
      "--check-passes", options.check_passes,
      "Evaluate the module with the reference before and after each pass that rewrites it, on random "
      "arguments, and report the pass that changes a result");
}

void AddToleranceFlag(CLI::App& app, std::optional<CompareRule>& rule) {
  app.add_option_function<std::string>(
         "--tolerance",
         [&rule](const std::string& text) {
           const absl::StatusOr<CompareRule> parsed = ParseCompareRule(text);
           if (!parsed.ok()) throw CLI::ValidationError("--tolerance", std::string(Message(parsed.status())));
           rule = *parsed;
         },
         "Tolerance for floats: 'exact', 'within 2ulp', 'within abs 1e-6 rel 1e-5'. Default, absolute and "
         "relative: 1e-9 for f64, the larger of 1e-4 and four epsilons of the type for others")
      ->type_name("RULE");
}

void AddEngineFlag(CLI::App& app, Engine& engine) {
  static const std::map<std::string, Engine> kEngines = {{"reference", Engine::kReference},
                                                         {"fast", Engine::kFast}};
  app.add_option("--engine", engine, "The engine: reference or fast")
      ->transform(OneOf(kEngines))
      ->type_name("NAME")
      ->default_str(engine == Engine::kFast ? "fast" : "reference");
}

void AddMaxSecondsFlag(CLI::App& app, double& max_seconds) {
  app.add_option("--max-seconds", max_seconds, "Time limit for a run, in seconds")->check(PositiveReal());
}

void AddEngineFlags(CLI::App& app, EngineOptions& options) {
  static const std::map<std::string, Device::Kind> kDevices = {
      {"cpu", Device::Kind::kCpu}, {"gpu", Device::Kind::kGpu}, {"emulated-gpu", Device::Kind::kEmulatedGpu}};
  options.plan.replan_if_refused = true;
  AddEngineFlag(app, options.engine);
  app.add_option("--device", options.device.kind,
                 "The device of the fast engine: cpu, gpu (see hlo-run devices), or emulated-gpu, which runs "
                 "the GPU kernels on the host and is slow")
      ->transform(OneOf(kDevices))
      ->type_name("NAME")
      ->default_str("cpu");
  app.add_option_function<std::vector<int>>(
         "--gpu",
         [&options](const std::vector<int>& numbers) {
           options.device = {Device::Kind::kGpu, numbers.front(), {numbers.begin() + 1, numbers.end()}};
         },
         "The number of the GPU; implies --device=gpu. Replicas and partitions take several, such as 0,1, in "
         "turn")
      ->delimiter(',')
      ->expected(1, kMaxGpus)
      ->allow_extra_args(false)
      ->type_name("N[,N...]")
      ->check(CLI::Range(0, kMaxGpus - 1));
  app.add_flag("--explain-fallbacks", options.explain_fallbacks,
               "List the steps that run on the CPU instead of the GPU, with reasons, on standard error");
  AddPlanFlags(app, options.plan);
}

void AddCustomCallFlags(CLI::App& app, CustomCallOptions& options) {
  app.add_option(
         "--custom-call-library", options.libraries,
         "A shared library with functions void TARGET(void* out, const void** in) for custom calls, or with "
         "handlers of XLA's typed FFI for calls of API_VERSION_TYPED_FFI. Its code is trusted. Repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--custom-call", options.modules,
                 "TARGET=FILE.hlo: the entry computation of this module implements the target. TARGET=zeros: "
                 "its calls return zeros. TARGET=identity: its calls return their operands. Repeatable")
      ->type_name("TARGET=WHAT")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace hlo::cli
