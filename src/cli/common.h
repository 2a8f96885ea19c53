#pragma once
// What the subcommands share beside their flags (flags.h): exit statuses, loading a module, and the loop over
// many files with one result each.

#include <chrono>
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
// "ok", "failed", "invalid", "unsupported", "limit".
std::string_view Name(Exit exit);

// Flags that most subcommands have.
struct CommonOptions {
  std::vector<std::string> files;
  bool json = false;
  bool strict = false;
  int64_t max_errors = 20;
  int64_t max_nesting = ParseOptions{}.max_nesting;
  uint64_t max_literal_bytes = ParseOptions{}.max_literal_bytes;
  uint64_t max_memory = 0;
  ElidedValues elided;                       // --elided, where a command evaluates.
  std::string module_pattern, pass_pattern;  // Regular expressions that choose among the files; empty: all.
  std::string separator;                     // Between the texts of the modules of one file.
  std::string single_output;                 // A file that takes what one module gives; empty: there is none.
};

// Where arguments come from.
struct InputOptions {
  std::vector<std::string> files;
  bool convert = false;
  bool made_up = false;  // --random, --fill, --distribution or --range was given.
  MakeOptions make;
};
// The arguments of the entry computation. InvalidArgument, listing the parameters, where nothing says what
// they are.
absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const Module& module);
struct LoadedModule;
// The same; where nothing says what they are, a snapshot's own arguments.
absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const LoadedModule& loaded);

// What evaluates, and where.
struct EngineOptions {
  Engine engine = Engine::kFast;
  Device device;
  bool explain_fallbacks = false;
  PlanOptions plan;
};
// A line for each step that the GPU left to the CPU.
std::string FallbacksText(const Executable& executable);

// Colour on stderr: only on a terminal, and never with NO_COLOR.
bool UseColor();

// What one file gave: text for stdout, errors for stderr, and what the JSON line adds.
struct FileResult {
  Exit exit = Exit::kOk;
  std::string text;
  std::string diagnostics;  // Rendered, for stderr.
  Json errors =
      Json::array();  // For the JSON line: message, line, column, rule, instruction; null if unknown.
  Json extra = Json::object();
  Progress* progress = nullptr;              // Null where nobody looks at a terminal.
  std::optional<ModuleFile> module;          // What ForEachFile has read, until Load takes it.
  std::shared_ptr<const SourceText> source;  // Of the module, once it is loaded.

  void Fail(Exit exit_status, std::string message);
  // Fails with "FILE: error: message" unless the status is OK; returns whether it is.
  bool Accept(const absl::Status& status, const std::string& file);
};

double SecondsSince(std::chrono::steady_clock::time_point start);

struct Seconds {
  double parse = 0;
  double check = 0;
};
struct LoadedModule {
  std::shared_ptr<const SourceText> source;
  std::shared_ptr<Module> module;      // Null after an error, which `result` then holds.
  std::vector<CheckedModule> checked;  // One, or none where checking was not wanted or failed.
  std::optional<std::vector<Literal>> snapshot_arguments;
  Seconds seconds;
};
enum class LoadUntil { kParsed, kChecked };
// Reads, parses and checks. Parse errors are Exit::kInvalid; checker errors are `check_failure`.
LoadedModule Load(const std::string& file, const CommonOptions& options, LoadUntil until, Exit check_failure,
                  FileResult& result, const CheckOptions& check_options = {});

// Code and modules for custom calls that are not known.
struct CustomCallOptions {
  std::vector<std::string> libraries;
  std::vector<std::string> modules;  // TARGET=FILE.hlo
  bool empty() const { return libraries.empty() && modules.empty(); }
};
// Loads them; false after an error, which `result` then holds.
bool AddCustomCalls(const CustomCallOptions& options, const CommonOptions& common, CustomCalls& custom_calls,
                    FileResult& result);

// An entry of FileResult::errors for a diagnostic, or for a message that may begin with `file:line:column:
// error: `.
Json ErrorOf(const Diagnostic& diagnostic, const SourceText& source);
Json ErrorOf(std::string_view message, const SourceText* source);

// The files that the arguments stand for: those below directories that are modules, sorted, chosen by
// --module and
// --pass. What is skipped is said on stderr. InvalidArgument where none is left.
absl::StatusOr<std::vector<std::string>> SelectFiles(const CommonOptions& options);

// Runs `work` on every module of every file and writes results in order: text to stdout for a single file;
// one JSON line a module with several files or --format=json. Of a file with several modules `work` gets a
// name with the number of the module, `m#2.hlo` for the second one of m.hlo. Returns the worst exit status.
int ForEachFile(const CommonOptions& options,
                const std::function<void(const std::string&, FileResult&)>& work);

// Remembers that standard output could not be written to, and why (an errno).
void NoteOutputError(int error);
// Flushes standard output. Returns the exit status, or that of the first error of standard output, which it
// reports: a full disk is a limit.
int CloseOutput(int exit_status);

// Writes to a file by way of a temporary one beside it, or to stdout for "-".
absl::Status WriteOutput(const std::string& path, std::string_view content);

}  // namespace hlo::cli
