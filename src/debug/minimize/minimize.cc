#include "debug/minimize/minimize.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "base/activity.h"
#include "base/counted.h"
#include "base/status.h"
#include "debug/device_values.h"
#include "debug/minimize/reductions.h"
#include "debug/process.h"
#include "fmt/format.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "io/file.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Reduction kReductions[] = {
    {"dead code", ProposeWithoutDeadCode, true},
    {"dead results", ProposeDeadResults, true, true},
    {"root", ProposeRootsBesideDeadCode, true, true},
    {"dead code", ProposeWithoutDeadCode, true},
    {"outputs", ProposeOutputs, true},
    {"root", ProposeRoots, true},
    {"recorded values", ProposeFrontiers, true},
    {"annotations", ProposeWithoutAnnotations, true},
    {"loop iterations", ProposeIterations, false, true},
    {"branches", ProposeBranches, false, true},
    {"inlining", ProposeInlining, true, true},
    {"recorded values", ProposeFrontiers, true},
    {"bypass", ProposeBypasses, false},
    {"recorded values", ProposeEdges, true},
    {"shapes", ProposeSmallerShapes, false},
    {"inputs", ProposeInputs, false, true},
    {"devices", ProposeOneDevice, false},
};

// The hashes of candidates that the judge refused, one per line of a file.
class Refused {
 public:
  explicit Refused(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      uint64_t hash = 0;
      if (absl::SimpleHexAtoi(line, &hash)) hashes_.insert(hash);
    }
  }
  bool Contains(uint64_t hash) const { return hashes_.contains(hash); }
  void Add(uint64_t hash) {
    if (hashes_.insert(hash).second && !path_.empty())
      std::ofstream(path_, std::ios::app) << fmt::format("{:x}\n", hash);
  }

 private:
  std::string path_;
  absl::flat_hash_set<uint64_t> hashes_;
};

class Minimizer {
 public:
  Minimizer(SharedCase test, const CaseJudge& judge, const MinimizeOptions& options)
      : original_(test),
        test_(std::move(test)),
        judge_(judge),
        options_(options),
        refused_(options.folder.empty() ? "" : options.folder + "/refused.txt") {
    jobs_ =
        options.jobs > 0 ? options.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

  absl::StatusOr<MinimizeResult> Run() {
    MinimizeResult result;
    result.before = SizeOf(*test_);
    HLO_ASSIGN_OR_RETURN(result.is_resumed, Resume());
    if (!result.is_resumed) {
      ++judged_;
      const absl::Status accepted = judge_.Judge(*test_);
      if (absl::IsCancelled(accepted)) return accepted;
      if (!accepted.ok()) {
        HLO_RETURN_IF_ERROR(judge_.CheckRuns(*test_));
        return absl::Status(accepted.code(),
                            fmt::format("the judge does not accept the given module: {}", Message(accepted)));
      }
      HLO_RETURN_IF_ERROR(Save());
    }
    for (bool progress = true; progress && !IsPastDeadline();) {
      progress = false;
      for (const Reduction& reduction : kReductions) {
        if (judge_.needs_values() && !reduction.keeps_values) continue;
        HLO_ASSIGN_OR_RETURN(const bool smaller, Reduce(reduction));
        progress |= smaller;
      }
    }
    result.test = test_;
    result.judged = judged_;
    result.accepted = accepted_;
    result.is_finished = !IsPastDeadline();
    return result;
  }

 private:
  bool IsPastDeadline() const {
    if (IsSet(options_.cancel)) return true;
    return options_.max_seconds > 0 &&
           std::chrono::duration<double>(Clock::now() - start_).count() > options_.max_seconds;
  }

  // Tries the proposals until none of them is accepted. After an accepted one, the search continues at its
  // number, because the earlier proposals were rejected for a similar case. Then the smaller half of the
  // steps is tried again; the next round tries all.
  absl::StatusOr<bool> Reduce(const Reduction& reduction) {
    bool has_progress = false, has_gained_since_start = false;
    for (size_t next = 0; !IsPastDeadline();) {
      const SharedCase before = test_;
      const std::vector<Proposal> proposals = reduction.proposals(before);
      HLO_ASSIGN_OR_RETURN(const std::optional<size_t> accepted, TryFrom(reduction, proposals, next));
      if (accepted) {
        has_progress |= SizeOf(*test_) < SizeOf(*before);
        has_gained_since_start = true;
        next = *accepted;
      } else if (std::exchange(has_gained_since_start, false) && next > 0) {
        next = std::min(next, proposals.size() / 2);
      } else {
        break;
      }
    }
    return has_progress;
  }

  // Judges proposals in batches. Takes the first accepted one and returns its number.
  absl::StatusOr<std::optional<size_t>> TryFrom(const Reduction& reduction,
                                                const std::vector<Proposal>& proposals, size_t begin) {
    for (; begin < proposals.size() && !IsPastDeadline(); begin += static_cast<size_t>(jobs_)) {
      const size_t end = std::min(begin + static_cast<size_t>(jobs_), proposals.size());
      const std::string what =
          fmt::format("{} candidates judged, {} accepted; {}", judged_.load(), accepted_, reduction.name);
      Report({.what = what,
              .done = static_cast<int64_t>(begin),
              .total = static_cast<int64_t>(proposals.size()),
              .unit = "candidates"});
      std::vector<SharedCase> accepted(end - begin);
      std::vector<uint64_t> refused(end - begin);
      std::vector<std::thread> threads;
      for (size_t i = begin; i < end; ++i) {
        threads.emplace_back(
            [&, i] { accepted[i - begin] = Try(reduction, proposals[i], refused[i - begin]); });
      }
      for (std::thread& thread : threads) thread.join();
      for (const uint64_t hash : refused) {
        if (hash != 0) refused_.Add(hash);
      }
      for (size_t i = 0; i < accepted.size(); ++i) {
        if (accepted[i] == nullptr) continue;
        HLO_RETURN_IF_ERROR(Apply(reduction, accepted[i]));
        return begin + i;
      }
    }
    return std::nullopt;
  }

  // Returns the candidate if it is smaller and accepted.
  SharedCase Try(const Reduction& reduction, const Proposal& proposal, uint64_t& refused) {
    absl::StatusOr<SharedCase> candidate = proposal();
    if (!candidate.ok()) return nullptr;
    const uint64_t hash = HashOf(**candidate);
    const bool is_smaller = SizeOf(**candidate) < SizeOf(*test_);
    if ((!is_smaller && !reduction.may_grow) || refused_.Contains(hash) || accepted_hashes_.contains(hash))
      return nullptr;
    ++judged_;
    if (judge_.Accepts(**candidate)) return *candidate;
    if (IsSet(options_.cancel)) return nullptr;  // The judge did not decide.
    refused = hash;
    return nullptr;
  }

  absl::Status Apply(const Reduction& reduction, SharedCase candidate) {
    accepted_hashes_.insert(HashOf(*test_));
    test_ = std::move(candidate);
    ++accepted_;
    const CaseSize size = SizeOf(*test_);
    if (options_.report) {
      options_.report(fmt::format("{}: {}, {} of inputs", reduction.name,
                                  Counted(size.instructions, "instruction"),
                                  Counted(size.elements, "element")));
    }
    return Save();
  }

  std::string StatePath() const { return options_.folder + "/minimize.json"; }
  // The judge may hold a file name that is not UTF-8.
  std::string State() const {
    const nlohmann::ordered_json state = {{"judge", judge_.description()},
                                          {"original", fmt::format("{:x}", HashOf(*original_))}};
    return state.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  absl::Status Save() const {
    if (options_.folder.empty()) return absl::OkStatus();
    const std::optional<Literal> outputs = judge_.Expected(*test_);
    HLO_RETURN_IF_ERROR(WriteCase(options_.folder, *test_, outputs ? &*outputs : nullptr,
                                  "the smallest module for " + judge_.description()));
    return io::WriteText(StatePath(), State() + "\n");
  }

  // Continues with the case in the folder if the same judge made it from the same module.
  absl::StatusOr<bool> Resume() {
    std::ifstream file(StatePath());
    if (options_.folder.empty() || !file) return false;
    if (nlohmann::ordered_json::parse(file, nullptr, false) != nlohmann::ordered_json::parse(State())) {
      return absl::FailedPreconditionError(
          fmt::format("'{}' holds the progress of another module or judge", options_.folder));
    }
    HLO_ASSIGN_OR_RETURN(const ModuleFile module, ReadModuleFile(options_.folder + "/module.hlo"));
    HLO_ASSIGN_OR_RETURN(const SharedCase bare, ParseWithoutInputs(std::string(module.text->content())));
    std::vector<std::string> inputs;
    if (std::filesystem::exists(options_.folder + "/inputs.npz"))
      inputs.push_back(options_.folder + "/inputs.npz");
    HLO_ASSIGN_OR_RETURN(std::vector<Literal> values, ReadAllInputs(bare->module.module(), inputs));
    HLO_ASSIGN_OR_RETURN(test_, MakeTestCase(bare->text, std::move(values)));
    return true;
  }

  static absl::StatusOr<SharedCase> ParseWithoutInputs(std::string text) {
    Diagnostics diagnostics;
    std::shared_ptr<Module> module = Parse(std::make_shared<const SourceText>("module.hlo", text),
                                           diagnostics, {.infer_shape = InferMissingShape});
    if (module == nullptr)
      return absl::FailedPreconditionError("the module of the earlier run does not parse");
    HLO_ASSIGN_OR_RETURN(CheckedModule checked, Check(module, diagnostics));
    return std::make_shared<const TestCase>(TestCase{std::move(checked), std::move(text), {}});
  }

  // Returns the inputs of all devices.
  static absl::StatusOr<std::vector<Literal>> ReadAllInputs(const Module& module,
                                                            const std::vector<std::string>& files) {
    std::vector<std::vector<Literal>> by_input(module.entry()->parameters().size());
    for (const DevicePlace& place : PlacesOf(module)) {
      InputsOptions options;
      if (!place.prefix().empty()) options.device = place;
      HLO_ASSIGN_OR_RETURN(std::vector<Literal> device_arguments, ReadInputs(module, files, options));
      for (size_t i = 0; i < device_arguments.size(); ++i)
        by_input[i].push_back(std::move(device_arguments[i]));
    }
    std::vector<Literal> inputs;
    for (std::vector<Literal>& values : by_input) inputs.push_back(AllDevices(std::move(values)));
    return inputs;
  }

  SharedCase original_, test_;
  const CaseJudge& judge_;
  const MinimizeOptions& options_;
  Refused refused_;
  absl::flat_hash_set<uint64_t> accepted_hashes_;
  int jobs_;
  std::atomic<int64_t> judged_ = 0;
  int64_t accepted_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::Span<const Reduction> Reductions() { return kReductions; }

absl::StatusOr<MinimizeResult> Minimize(const SharedCase& original, const CaseJudge& judge,
                                        const MinimizeOptions& options) {
  return Minimizer(original, judge, options).Run();
}

}  // namespace hlo::debug
