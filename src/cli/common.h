#pragma once
// Code that the subcommands share besides their flags (flags.h): exit statuses, loading modules, and the loop
// over files.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "nlohmann/json.hpp"
#include "observe/progress.h"

namespace hlo::cli {

using Json = nlohmann::ordered_json;

enum class Exit { kOk = 0, kFailed = 1, kInvalid = 2, kUnsupported = 3, kLimit = 4 };
Exit ExitFor(const absl::Status& status);
// Returns "ok", "failed", "invalid", "unsupported" or "limit".
std::string_view Name(Exit exit);

// The flags of most subcommands.
struct CommonOptions {
  std::vector<std::string> files;
  bool json = false;
  bool strict = false;
  int64_t max_errors = 20;
  int64_t max_nesting = ParseOptions{}.max_nesting;
  uint64_t max_literal_bytes = ParseOptions{}.max_literal_bytes;
  uint64_t max_memory = 0;
  ElidedValues elided;                       // --elided, for commands that evaluate.
  std::string module_pattern, pass_pattern;  // Regular expressions that select files; empty selects all.
  std::string separator;                     // Separates the texts of the modules of one file.
  std::string single_output;                 // The output file of a single module; empty if there is none.
  // Commands that run modules on several devices set `runs_devices`; Load then sets the counts in the
  // module's header to those of the run (devices.h).
  bool runs_devices = false, shards = false;
  // The devices of the header run even if no instruction depends on them, because their arguments may differ.
  bool keeps_devices = false;
  std::optional<int64_t> replicas, partitions;
};

// The sources of the arguments.
struct InputOptions {
  std::vector<std::string> files;
  bool convert = false;
  bool generates_values = false;  // True with --random, --fill, --distribution or --range.
  MakeOptions make;
};
// Returns the arguments of the entry computation. Returns InvalidArgument with a list of the parameters if
// the options do not determine them.
absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const Module& module);
struct LoadedModule;
// Returns the same; a snapshot's own arguments are the default.
absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const LoadedModule& loaded);

// Returns FailedPrecondition if a run of the module needs elements of constants that its text elides. It is
// called before arguments are made, which may take long.
absl::Status RequireElements(const LoadedModule& loaded);

// The engine and its device.
struct EngineOptions {
  Engine engine = Engine::kFast;
  Device device;
  bool explain_fallbacks = false;
  PlanOptions plan;
};
// Returns a line for each step of a GPU plan that ran on the CPU.
std::string FallbacksText(const Executable& executable);
// Returns a warning if the module runs without optional passes because its plan was wrong; otherwise "".
std::string RefusalText(const Executable& executable, const std::string& file);

// True if stderr is a terminal and NO_COLOR is not set.
bool UseColor();

// The output of one file: text for stdout, errors for stderr, and members of the JSON line.
struct FileResult {
  Exit exit = Exit::kOk;
  std::string text;
  std::string diagnostics;  // Rendered text for stderr.
  Json errors =
      Json::array();  // For the JSON line: message, line, column, rule, instruction; null if unknown.
  Json extra = Json::object();
  Progress* progress = nullptr;              // Null unless stderr is a terminal.
  std::optional<ModuleFile> module;          // Set by ForEachFile and taken by Load.
  std::shared_ptr<const SourceText> source;  // The source of the loaded module.

  void Fail(Exit exit_status, const std::string& message);
  // Records "FILE: error: message" and returns false unless the status is OK.
  bool Accept(const absl::Status& status, const std::string& file);
};

struct Seconds {
  double parse = 0;
  double check = 0;
};
struct LoadedModule {
  std::shared_ptr<const SourceText> source;
  std::shared_ptr<Module> module;      // Null after an error, which `result` contains.
  std::vector<CheckedModule> checked;  // One module, or none if it was not checked or is invalid.
  std::optional<std::vector<Literal>> snapshot_arguments;
  Seconds seconds;
};
enum class LoadUntil { kParsed, kChecked };
// Reads, parses and checks a file. Parse errors set Exit::kInvalid, checker errors `check_failure`.
LoadedModule Load(const std::string& file, const CommonOptions& options, LoadUntil until, Exit check_failure,
                  FileResult& result, const CheckOptions& check_options = {});

// Libraries and modules that implement custom calls.
struct CustomCallOptions {
  std::vector<std::string> libraries;
  std::vector<std::string> modules;  // TARGET=FILE.hlo.
  bool empty() const { return libraries.empty() && modules.empty(); }
};
// Loads them; returns false after an error, which `result` contains.
bool AddCustomCalls(const CustomCallOptions& options, const CommonOptions& common, CustomCalls& custom_calls,
                    FileResult& result);

// Returns an entry of FileResult::errors for a diagnostic, or for a message that may start with
// `file:line:column: error: `.
Json ErrorOf(const Diagnostic& diagnostic, const SourceText& source);
Json ErrorOf(std::string_view message, const SourceText* source);

// Returns the files of the command line. Directories are replaced by the module files below them, sorted and
// filtered by --module and --pass; a message on stderr counts the skipped files. Returns InvalidArgument if
// none remain.
absl::StatusOr<std::vector<std::string>> SelectFiles(const CommonOptions& options);

// Calls `work` for every module of every file and prints the results in order: text on stdout for a single
// file, one JSON line per module for several files or --format=json. The second module of m.hlo is named
// `m#2.hlo`. Returns the worst exit status.
int ForEachFile(const CommonOptions& options,
                const std::function<void(const std::string&, FileResult&)>& work);

// Records the errno of a failed write to standard output.
void RecordOutputError(int error);
// Flushes standard output. Returns `exit_status` or, after reporting it, the status of the first output
// error; a full disk is a limit.
int CloseOutput(int exit_status);

// Writes to a temporary file that is renamed atomically, or to stdout for "-".
absl::Status WriteOutput(const std::string& path, std::string_view content);

}  // namespace hlo::cli
