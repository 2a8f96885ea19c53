#include "cli/common.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/strip.h"
#include "base/limit_rule.h"
#include "base/status.h"
#include "fmt/format.h"
#include "plan/passes.h"

namespace hlo::cli {
namespace {

namespace fs = std::filesystem;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void AddDiagnostics(const Diagnostics& diagnostics, const SourceText& source, FileResult& result) {
  result.diagnostics += Render(diagnostics, source, {.color = UseColor()});
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    std::string text = Render(diagnostic, source);
    result.errors.push_back(text.substr(0, text.find('\n')));
  }
}

bool IsModule(const fs::path& path) {
  return path.extension() == ".hlo" || path.extension() == ".pb" || path.extension() == ".pbtxt";
}

// The files that an argument stands for: itself, or all modules below a directory.
std::vector<std::string> Expand(const std::string& argument) {
  std::error_code error;
  if (argument == "-" || !fs::is_directory(argument, error)) return {argument};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(argument, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && IsModule(it->path())) files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// UTF-8 is what JSON demands; names in a dump can be any bytes.
std::string ToJsonLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Exit ExitFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Exit::kOk;
    case absl::StatusCode::kUnimplemented:
      return Exit::kUnsupported;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return Exit::kLimit;
    default:
      return Exit::kInvalid;
  }
}

std::string_view Name(Exit exit) {
  constexpr std::string_view kNames[] = {"ok", "failed", "invalid", "unsupported", "limit"};
  return kNames[static_cast<int>(exit)];
}

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

absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const Module& module) {
  if (!options.files.empty()) return ReadInputs(module, options.files);
  const auto parameters = module.entry()->parameters();
  if (options.made_up || parameters.empty()) return MakeInputs(module, options.fill, options.seed);
  std::string list;
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < parameters.size() && i < kShown; ++i) {
    list += fmt::format("\n  {}: {} {}", i, parameters[i]->name(), ToString(parameters[i]->shape()));
  }
  if (parameters.size() > kShown) list += fmt::format("\n  and {} more", parameters.size() - kShown);
  return absl::InvalidArgumentError(
      fmt::format("the module takes {} argument{}: give --input for each, or --random SEED{}",
                  parameters.size(), parameters.size() == 1 ? "" : "s", list));
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

std::string FallbacksText(const Executable& executable) {
  const std::vector<Fallback> fallbacks = executable.fallbacks();
  std::string text = fmt::format("{} of the plan's steps ran on the CPU\n", fallbacks.size());
  for (const Fallback& fallback : fallbacks) {
    text += fmt::format("  {} {}: {} ({} runs, {} bytes copied)\n", Name(fallback.instruction->opcode()),
                        fallback.instruction->name(), fallback.reason, fallback.runs, fallback.bytes);
  }
  return text;
}

absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const LoadedModule& loaded) {
  if (!options.files.empty() || options.made_up || !loaded.snapshot_arguments) {
    return Arguments(options, *loaded.module);
  }
  return loaded.snapshot_arguments->size() == loaded.module->entry()->parameters().size()
             ? absl::StatusOr<std::vector<Literal>>(*loaded.snapshot_arguments)
             : absl::FailedPreconditionError(fmt::format(
                   "the snapshot has {} arguments, but the module takes {}",
                   loaded.snapshot_arguments->size(), loaded.module->entry()->parameters().size()));
}

bool UseColor() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) != 0 && (no_color == nullptr || no_color[0] == '\0');
}

void FileResult::Fail(Exit exit_status, std::string message) {
  exit = std::max(exit, exit_status);
  diagnostics += message + "\n";
  errors.push_back(std::move(message));
}

bool FileResult::Accept(const absl::Status& status, const std::string& file) {
  if (status.ok()) return true;
  // Messages that begin with a place already name the file.
  std::string message(Message(status));
  if (!absl::StartsWith(message, file + ":")) message = fmt::format("{}: error: {}", file, message);
  Fail(ExitFor(status), std::move(message));
  return false;
}

LoadedModule Load(const std::string& file, const CommonOptions& options, LoadUntil until, Exit check_failure,
                  FileResult& result, const CheckOptions& check_options) {
  LoadedModule loaded;
  absl::StatusOr<ModuleFile> read = ReadModuleFile(file);
  if (!read.ok()) {
    result.Fail(ExitFor(read.status()), fmt::format("hlo-run: error: {}", Message(read.status())));
    return loaded;
  }
  loaded.source = std::move(read->text);
  loaded.snapshot_arguments = std::move(read->arguments);

  Diagnostics diagnostics(options.max_errors);
  auto start = std::chrono::steady_clock::now();
  std::shared_ptr<Module> module =
      Parse(loaded.source, diagnostics,
            {.strict = options.strict,
             .infer_shape = InferMissingShape,
             .max_nesting = options.max_nesting,
             .max_literal_bytes = static_cast<int64_t>(options.max_literal_bytes)});
  loaded.seconds.parse = SecondsSince(start);
  if (module == nullptr) {
    const bool is_limit =
        std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                    [](const Diagnostic& diagnostic) { return diagnostic.rule == kMemoryLimitRule; });
    result.exit = std::max(result.exit, is_limit ? Exit::kLimit : Exit::kInvalid);
    AddDiagnostics(diagnostics, *loaded.source, result);
    return loaded;
  }
  if (!result.Accept(FillElided(options.elided, *module), file)) return loaded;
  if (until == LoadUntil::kChecked) {
    CheckOptions all = check_options;
    all.strict |= options.strict;
    start = std::chrono::steady_clock::now();
    absl::StatusOr<CheckedModule> checked = Check(module, diagnostics, all);
    loaded.seconds.check = SecondsSince(start);
    if (!checked.ok()) {
      result.exit = std::max(result.exit, check_failure);
      AddDiagnostics(diagnostics, *loaded.source, result);
      return loaded;
    }
    loaded.checked.push_back(*std::move(checked));
  }
  AddDiagnostics(diagnostics, *loaded.source, result);
  loaded.module = std::move(module);
  return loaded;
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

bool AddCustomCalls(const CustomCallOptions& options, const CommonOptions& common, CustomCalls& custom_calls,
                    FileResult& result) {
  for (const std::string& library : options.libraries) {
    if (!result.Accept(custom_calls.AddLibrary(library), library)) return false;
  }
  for (const std::string& text : options.modules) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      result.Fail(Exit::kInvalid,
                  fmt::format("hlo-run: error: --custom-call takes TARGET=FILE.hlo, but it is '{}'", text));
      return false;
    }
    LoadedModule loaded = Load(text.substr(equals + 1), common, LoadUntil::kChecked, Exit::kInvalid, result);
    if (loaded.module == nullptr) return false;
    custom_calls.Add(text.substr(0, equals), std::move(loaded.checked.front()));
  }
  return true;
}

int ForEachFile(const CommonOptions& options,
                const std::function<void(const std::string&, FileResult&)>& work) {
  if (options.max_memory > 0) SetMemoryLimit(static_cast<int64_t>(options.max_memory));
  std::vector<std::string> files;
  for (const std::string& argument : options.files) {
    const std::vector<std::string> expanded = Expand(argument);
    if (expanded.empty()) {
      fmt::print(stderr, "hlo-run: error: no .hlo, .pb or .pbtxt files below '{}'\n", argument);
      return static_cast<int>(Exit::kInvalid);
    }
    files.insert(files.end(), expanded.begin(), expanded.end());
  }
  const bool json = options.json || files.size() > 1;
  Exit worst = Exit::kOk;
  for (const std::string& file : files) {
    FileResult result;
    work(file, result);
    worst = std::max(worst, result.exit);
    if (json) {
      Json line = {{"file", file}, {"status", Name(result.exit)}, {"errors", result.errors}};
      line.update(result.extra);
      result.text = ToJsonLine(line) + "\n";
    } else if (!result.diagnostics.empty()) {
      std::fwrite(result.diagnostics.data(), 1, result.diagnostics.size(), stderr);
    }
    if (std::fwrite(result.text.data(), 1, result.text.size(), stdout) != result.text.size() ||
        std::fflush(stdout) != 0) {
      NoteOutputError(errno);
      break;
    }
  }
  return static_cast<int>(worst);
}

namespace {
int output_error = 0;  // The first error of standard output, as an errno.
}  // namespace

void NoteOutputError(int error) {
  if (output_error == 0) output_error = error;
}

int CloseOutput(int exit_status) {
  if (std::fflush(stdout) != 0) NoteOutputError(errno);
  if (output_error == 0 && std::ferror(stdout) != 0) NoteOutputError(EIO);
  if (output_error == 0) return exit_status;
  const absl::Status status = absl::ErrnoToStatus(output_error, "cannot write to standard output");
  std::fprintf(stderr, "hlo-run: error: cannot write to standard output: %s\n", std::strerror(output_error));
  return std::max(exit_status, static_cast<int>(ExitFor(status)));
}

absl::Status WriteOutput(const std::string& path, std::string_view content) {
  if (path == "-") {
    const bool ok =
        std::fwrite(content.data(), 1, content.size(), stdout) == content.size() && std::fflush(stdout) == 0;
    if (ok) return absl::OkStatus();
    NoteOutputError(errno);
    return absl::ErrnoToStatus(errno, "cannot write to standard output");
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, fmt::format("cannot write '{}'", path));
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const absl::Status status = absl::ErrnoToStatus(errno, fmt::format("cannot write '{}'", path));
  std::remove(temporary.c_str());
  return status;
}

}  // namespace hlo::cli
