// The flags that subcommands share.

#include "cli/flags.h"

#include <map>

#include "base/status.h"
#include "fmt/format.h"
#include "plan/passes.h"

namespace hlo::cli {

void AddCommonFlags(CLI::App& app, CommonOptions& options) {
  app.add_option("files", options.files,
                 "HLO text or serialised modules (.pb, .pbtxt), directories of them, or - for standard input")
      ->type_name("FILE")
      ->required();
  app.add_option_function<std::string>(
         "--format", [&options](const std::string& format) { options.json = format == "json"; },
         "What to print: text, or json, a line for each file (always json lines with several files)")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  app.add_flag("--strict", options.strict,
               "Refuse what XLA refuses: old spellings and lenient cases are errors");
  app.add_option("--max-errors", options.max_errors, "Stop after this many errors")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-nesting", options.max_nesting,
                 "Deepest nesting of shapes, operands, literals and bodies")
      ->check(CLI::Range(int64_t{1}, int64_t{100000}))
      ->capture_default_str();
  app.add_option("--max-literal-bytes", options.max_literal_bytes, "Largest constant")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--max-memory", options.max_memory,
                 "Most bytes that all values together may take; default: what the machine has")
      ->transform(CLI::AsSizeValue(false))
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
         "Values for constants whose elements the text leaves out, {...}: zeros; random or random:SEED, "
         "drawn as "
         "--random draws arguments; counter, the bytes 0 1 2 ... that XLA's reader puts there; NAME=FILE for "
         "one")
      ->type_name("VALUES")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

void AddFillFlags(CLI::App& app, InputOptions& options) {
  app.add_option_function<uint64_t>(
         "--random",
         [&options](uint64_t seed) {
           options.seed = seed;
           options.made_up = true;
         },
         "Random arguments from this seed")
      ->type_name("SEED");
  app.add_option_function<std::string>(
         "--fill",
         [&options](const std::string& word) {
           options.fill = *ParseInputFill(word);
           options.made_up = true;
         },
         "What to fill arguments with: uniform, normal, zeros, ones or iota")
      ->check(CLI::IsMember({"uniform", "normal", "zeros", "ones", "iota"}))
      ->default_str("uniform");
}

void AddInputFlags(CLI::App& app, InputOptions& options) {
  app.add_option(
         "-i,--input", options.files,
         "An argument: a .npy, .npz, .safetensors, .txt or .bin file, or a literal such as 'f32[2]{1,2}'; "
         "by position, "
         "or as name=...; repeatable")
      ->type_name("VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  AddFillFlags(app, options);
}

void AddPlanFlags(CLI::App& app, PlanOptions& options) {
  const auto is_pass = [](const std::string& name) {
    return std::string(Message(plan::EnabledPasses({.disabled_passes = {name}}).status()));
  };
  app.add_option("--disable-pass", options.disabled_passes,
                 "Skip this pass of the planner; may be repeated. hlo-run plan --passes lists them")
      ->type_name("NAME")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(is_pass, ""));
  app.add_flag_callback(
      "--trust-plan", [&options] { options.validate = false; }, "Run the plan without validating it first");
  app.add_flag(
      "--check-passes", options.check_passes,
      "Evaluate the module with the reference before and after each pass that rewrites it, on random "
      "arguments, and name the pass that changes a result");
}

void AddEngineFlags(CLI::App& app, EngineOptions& options) {
  static const std::map<std::string, Engine> kEngines = {{"reference", Engine::kReference},
                                                         {"fast", Engine::kFast}};
  static const std::map<std::string, Device::Kind> kDevices = {
      {"cpu", Device::Kind::kCpu}, {"gpu", Device::Kind::kGpu}, {"emulated-gpu", Device::Kind::kEmulatedGpu}};
  app.add_option("--engine", options.engine, "What evaluates: reference or fast")
      ->transform(OneOf(kEngines))
      ->type_name("NAME")
      ->default_str(options.engine == Engine::kFast ? "fast" : "reference");
  app.add_option(
         "--device", options.device.kind,
         "Where the fast engine runs: cpu, gpu (see hlo-run devices), or emulated-gpu, which runs the "
         "GPU's kernels on the host, slowly")
      ->transform(OneOf(kDevices))
      ->type_name("NAME")
      ->default_str("cpu");
  app.add_option_function<int>(
         "--gpu",
         [&options](int number) {
           options.device = {Device::Kind::kGpu, number};
         },
         "The number of the GPU; implies --device=gpu")
      ->check(CLI::Range(0, 1023));
  app.add_flag("--explain-fallbacks", options.explain_fallbacks,
               "List what the GPU leaves to the CPU, and why, on standard error");
  AddPlanFlags(app, options.plan);
}

void AddCustomCallFlags(CLI::App& app, CustomCallOptions& options) {
  app.add_option("--custom-call-library", options.libraries,
                 "A shared library with functions void TARGET(void* out, const void** in) for custom calls; "
                 "its code is trusted; repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option(
         "--custom-call", options.modules,
         "TARGET=FILE.hlo: the entry of this module computes the custom calls to the target; repeatable")
      ->type_name("TARGET=FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace hlo::cli
