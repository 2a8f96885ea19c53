#include "debug/against/against.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff.h"
#include "debug/process.h"
#include "debug/shadow/verdict.h"
#include "fmt/format.h"
#include "hlo_run/module_file.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "io/file.h"

namespace hlo::debug {
namespace {

namespace fs = std::filesystem;

// A case, or a module without expected values.
struct Work {
  Case test;
  bool is_module = false;
};

// A run of the command. The status of Run is the reason if there is no result.
class CommandRun {
 public:
  explicit CommandRun(const AgainstOptions& options) : options_(options) {}

  absl::StatusOr<Literal> Run(const CheckedModule& module, const std::vector<Literal>& arguments,
                              Host* host) {
    if (host != nullptr && host->has_values()) return absl::UnimplementedError("the case reads from a host");
    HLO_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
    PrintOptions print;
    print.own_order = true;
    HLO_RETURN_IF_ERROR(io::WriteText(folder.File("module.hlo"), Print(module.module(), print)));
    HLO_RETURN_IF_ERROR(WriteValues(folder.File("inputs.npz"), arguments));
    const std::string command =
        FillPlaceholders(options_.command, {{"{hlo}", folder.File("module.hlo")},
                                            {"{inputs}", folder.File("inputs.npz")},
                                            {"{outputs}", folder.File("outputs.npz")}});
    HLO_ASSIGN_OR_RETURN(outcome_, RunCommand(command, options_.max_seconds, options_.cancel));
    if (!outcome_->ok()) return absl::AbortedError(Describe(*outcome_) + "\n" + outcome_->output);
    absl::StatusOr<Literal> value =
        ReadValue(folder.File("outputs.npz"), module.module().entry()->root()->shape());
    if (!value.ok()) failure_ = "the results cannot be read: " + std::string(Message(value.status()));
    if (value.ok()) {
      module_ = module;
      arguments_ = arguments;
      got_ = *value;
    }
    return value;
  }

  // Returns the verdict of a shadow run: whether rounding errors explain the command's results.
  std::vector<OutputVerdict> JudgeRounding() const {
    EvaluateOptions evaluate = {.cancel = options_.cancel};
    evaluate.max_seconds = options_.max_seconds;
    const absl::StatusOr<ShadowReport> report = RunShadow(*module_, arguments_, evaluate);
    return report.ok() ? Judge(*report, module_->module(), got_) : std::vector<OutputVerdict>();
  }

  // Sets the verdict if the command gave no results; returns whether it did.
  bool Explain(AgainstResult& result) const {
    if (!outcome_) return false;
    result.seconds = outcome_->seconds;
    if (outcome_->ok() && failure_.empty()) return false;
    result.cannot_run = outcome_->cannot_run();
    result.verdict = AgainstVerdict::kRefused;
    if (outcome_->signal != 0) result.verdict = AgainstVerdict::kCrashed;
    if (outcome_->timed_out) result.verdict = AgainstVerdict::kTimedOut;
    result.report = failure_.empty() ? Describe(*outcome_) + "\n" + outcome_->output : failure_;
    return true;
  }
  bool has_run() const { return outcome_.has_value(); }

 private:
  const AgainstOptions& options_;
  std::optional<CommandOutcome> outcome_;
  std::string failure_;
  std::optional<CheckedModule> module_;  // The module that ran.
  std::vector<Literal> arguments_;
  Literal got_;
};

// Adds the verdict of a shadow run on values that differ. If the case has no expectations, values that
// rounding explains pass.
void AddRounding(const CommandRun& run, bool is_case, AgainstResult& result) {
  if (result.verdict != AgainstVerdict::kFailed) return;
  const std::vector<OutputVerdict> verdicts = run.JudgeRounding();
  const bool is_explained = !verdicts.empty() && std::all_of(verdicts.begin(), verdicts.end(), IsExplained);
  for (const OutputVerdict& verdict : verdicts) result.report += ToString(verdict);
  if (is_explained && !is_case) result.verdict = AgainstVerdict::kPassed;
}

AgainstVerdict VerdictOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return AgainstVerdict::kPassed;
    case Verdict::kFailed:
      return AgainstVerdict::kFailed;
    case Verdict::kUnsupported:
    case Verdict::kError:
      return AgainstVerdict::kSkipped;
  }
  return AgainstVerdict::kSkipped;
}

AgainstResult RunOneCase(const Case& test, const AgainstOptions& options) {
  CommandRun run(options);
  const CaseResult checked = RunCase(
      test,
      [&](const CheckedModule& module, const std::vector<Literal>& arguments, Host* host) {
        return run.Run(module, arguments, host);
      },
      options.elided);
  AgainstResult result{test.path, test.name, test.line};
  if (run.Explain(result)) return result;
  result.verdict = run.has_run() ? VerdictOf(checked.verdict) : AgainstVerdict::kSkipped;
  result.report = checked.report;
  AddRounding(run, /*is_case=*/true, result);
  if (!run.has_run() && result.report.empty()) result.report = "the case does not run";
  return result;
}

absl::StatusOr<CheckedModule> LoadModule(const std::string& path, const ElidedValues& elided) {
  HLO_ASSIGN_OR_RETURN(const ModuleFiles files, ModuleFiles::Read(path));
  const ModuleFile file = files.Get(0);
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(file.text, diagnostics, {.infer_shape = InferMissingShape});
  if (module == nullptr) return diagnostics.ToStatus(*file.text);
  HLO_RETURN_IF_ERROR(FillElided(elided, *module));
  return Check(module, diagnostics);
}

absl::Status RunModule(const std::string& path, const AgainstOptions& options, CommandRun& run,
                       AgainstResult& result) {
  HLO_ASSIGN_OR_RETURN(const CheckedModule module, LoadModule(path, options.elided));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> arguments, MakeInputs(module.module(), options.make));
  HLO_ASSIGN_OR_RETURN(const Literal want, Execute(module, arguments, options.engine));
  HLO_ASSIGN_OR_RETURN(const Literal got, run.Run(module, arguments, nullptr));
  const std::optional<CompareReport> worst = CompareValues(want, got, {.rule = options.rule});
  result.verdict = worst ? AgainstVerdict::kFailed : AgainstVerdict::kPassed;
  if (worst) result.report = ToString(*worst, 2);
  AddRounding(run, /*is_case=*/false, result);
  return absl::OkStatus();
}

AgainstResult RunOneModule(const std::string& path, const AgainstOptions& options) {
  CommandRun run(options);
  AgainstResult result{path, path};
  const absl::Status status = RunModule(path, options, run, result);
  if (run.Explain(result) || status.ok()) return result;
  result.verdict = AgainstVerdict::kSkipped;
  result.report = Message(status);
  return result;
}

// Adds the modules of a folder that belong to no case.
absl::Status AddModules(const std::string& folder, const std::set<std::string>& in_cases,
                        std::vector<Work>& work) {
  absl::StatusOr<FoundModules> found = FindModules(folder);
  if (!found.ok()) return found.status();
  for (const std::string& file : found->files) {
    std::error_code error;
    const fs::path path(file);
    const bool is_case = in_cases.contains(file) || fs::exists(path.parent_path() / "case.json", error);
    if (!is_case) work.push_back({{.path = file, .name = file}, true});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Work>> FindWork(const std::vector<std::string>& paths,
                                           const AgainstOptions& options) {
  std::vector<Work> work;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    absl::StatusOr<std::vector<Case>> cases = FindCases({path});
    if (!cases.ok() && is_folder) return cases.status();
    if (!cases.ok()) {
      if (!fs::exists(path, error)) return cases.status();
      work.push_back({{.path = path, .name = path}, true});
      continue;
    }
    std::set<std::string> in_cases;
    for (Case& test : *cases) {
      in_cases.insert(test.path);
      work.push_back({std::move(test)});
    }
    if (is_folder) HLO_RETURN_IF_ERROR(AddModules(path, in_cases, work));
  }
  std::erase_if(work, [&](const Work& one) {
    return !absl::StrContains(one.test.path, options.filter) &&
           !absl::StrContains(one.test.name, options.filter);
  });
  if (work.empty()) return absl::NotFoundError("no cases and no modules found");
  return work;
}

}  // namespace

std::string_view Name(AgainstVerdict verdict) {
  constexpr std::string_view kNames[] = {"passed", "failed", "crashed", "timed out", "refused", "skipped"};
  return kNames[static_cast<size_t>(verdict)];
}

absl::StatusOr<std::vector<AgainstResult>> CheckAgainst(const std::vector<std::string>& paths,
                                                        const AgainstOptions& options) {
  for (const char* placeholder : {"{hlo}", "{outputs}"}) {
    if (!absl::StrContains(options.command, placeholder))
      return absl::InvalidArgumentError(fmt::format("the command has no {}", placeholder));
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<Work> work, FindWork(paths, options));
  std::vector<AgainstResult> results(work.size());
  std::atomic<size_t> next = 0;
  std::mutex reporting;  // Guards the two below.
  absl::Status no_command;
  int64_t done = 0;
  ActivityListener* const listener = CurrentActivityListener();
  const auto run = [&] {
    for (size_t i = next++; i < work.size() && !IsSet(options.cancel); i = next++) {
      results[i] =
          work[i].is_module ? RunOneModule(work[i].test.path, options) : RunOneCase(work[i].test, options);
      if (IsSet(options.cancel)) {
        results[i] = {};
        break;
      }
      const std::lock_guard lock(reporting);
      if (results[i].cannot_run) {
        no_command = absl::FailedPreconditionError("the command cannot run: " + results[i].report);
        next = work.size();
        break;
      }
      if (listener != nullptr)
        listener->OnActivity({.what = "checking " + work[i].test.path,
                              .done = ++done,
                              .total = static_cast<int64_t>(work.size()),
                              .unit = "cases"});
      if (options.report) options.report(results[i]);
    }
  };
  const int jobs =
      options.jobs > 0 ? options.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (int i = 0; i < jobs; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  HLO_RETURN_IF_ERROR(no_command);
  // After an interruption, the others have no verdict.
  std::erase_if(results, [](const AgainstResult& result) { return result.path.empty(); });
  return results;
}

}  // namespace hlo::debug
