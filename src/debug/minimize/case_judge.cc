#include "debug/minimize/case_judge.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "absl/strings/match.h"
#include "base/counted.h"
#include "base/status.h"
#include "debug/device_values.h"
#include "debug/process.h"
#include "debug/summary.h"
#include "fmt/format.h"
#include "io/file.h"

namespace hlo::debug {
namespace {

absl::StatusOr<Literal> RunCase(const TestCase& test, const JudgeOptions& options) {
  EvaluateOptions evaluate = {.cancel = options.cancel};
  evaluate.max_seconds = options.max_seconds;
  return RunOnAllDevices(test.module, test.inputs, options.engine, evaluate);
}

// Writes the case to a folder, and replaces the placeholders of the command by its files.
absl::StatusOr<std::string> CommandFor(const std::string& command, const TestCase& test,
                                       const TemporaryFolder& folder) {
  HLO_RETURN_IF_ERROR(io::WriteText(folder.File("module.hlo"), test.text));
  if (absl::StrContains(command, "{inputs}"))
    HLO_RETURN_IF_ERROR(WriteInputs(folder.File("inputs.npz"), test));
  return FillPlaceholders(command, {{"{}", folder.File("module.hlo")},
                                    {"{hlo}", folder.File("module.hlo")},
                                    {"{inputs}", folder.File("inputs.npz")},
                                    {"{outputs}", folder.File("outputs.npz")}});
}

bool HasPlaceholder(const std::string& command) {
  return absl::StrContains(command, "{}") || absl::StrContains(command, "{hlo}");
}

absl::StatusOr<CommandOutcome> RunOn(const std::string& command, const TestCase& test,
                                     const JudgeOptions& options, const TemporaryFolder& folder) {
  HLO_ASSIGN_OR_RETURN(const std::string words, CommandFor(command, test, folder));
  return RunCommand(words, options.max_seconds, options.cancel);
}

absl::Status CheckCommand(const std::string& command, const TestCase& test, const JudgeOptions& options) {
  HLO_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  HLO_ASSIGN_OR_RETURN(const CommandOutcome outcome, RunOn(command, test, options, folder));
  if (!outcome.cannot_run()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the judge cannot run: {}\n{}", Describe(outcome), outcome.output));
}

absl::Status Failure(const CommandOutcome& outcome) {
  return absl::FailedPreconditionError(
      fmt::format("the command {}{}{}", outcome.signal != 0 || outcome.timed_out ? "" : "ended with ",
                  Describe(outcome), outcome.output.empty() ? "" : "\n" + outcome.output));
}

class CommandJudge : public CaseJudge {
 public:
  CommandJudge(std::string command, const JudgeOptions& options)
      : command_(std::move(command)), options_(options) {}
  absl::Status Judge(const TestCase& test) const override {
    HLO_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
    HLO_ASSIGN_OR_RETURN(const CommandOutcome outcome, RunOn(command_, test, options_, folder));
    return outcome.ok() ? absl::OkStatus() : Failure(outcome);
  }
  absl::Status CheckRuns(const TestCase& test) const override {
    return CheckCommand(command_, test, options_);
  }
  std::string description() const override { return "--judge " + command_; }

 private:
  std::string command_;
  JudgeOptions options_;
};

bool HasNan(const Literal& value) {
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(value);
  return std::any_of(leaves.begin(), leaves.end(), [](const LiteralLeaf& leaf) {
    return HoldsSpecial(*leaf.value, /*nans=*/true, /*infinities=*/false);
  });
}

// True if a NaN comes from outside of the computation: from an input or a constant.
bool HasGivenNan(const TestCase& test) {
  if (std::any_of(test.inputs.begin(), test.inputs.end(), HasNan)) return true;
  for (const Computation* computation : test.module.module().computations()) {
    for (const Instruction* i : computation->instructions()) {
      if (i->opcode() == Opcode::kConstant && !i->is_elided() && HasNan(*i->Get<attr::literal>()))
        return true;
    }
  }
  return false;
}

class NanJudge : public CaseJudge {
 public:
  NanJudge(const TestCase& original, const JudgeOptions& options)
      : accepts_given_(HasGivenNan(original)), options_(options) {}
  absl::Status Judge(const TestCase& test) const override {
    if (!accepts_given_ && HasGivenNan(test))
      return absl::FailedPreconditionError("its inputs or constants contain a NaN");
    HLO_ASSIGN_OR_RETURN(const Literal result, RunCase(test, options_));
    return HasNan(result) ? absl::OkStatus() : absl::FailedPreconditionError("its result contains no NaN");
  }
  std::string description() const override { return "--judge-nan"; }

 private:
  bool accepts_given_;
  JudgeOptions options_;
};

// Returns the leaves of the root by their instructions: the operands of a tuple, or the root itself.
std::vector<const Instruction*> RootLeaves(const Module& module) {
  const Instruction* root = module.entry()->root();
  if (root->opcode() != Opcode::kTuple) return {root};
  return {root->operands().begin(), root->operands().end()};
}

class RecordedJudge : public CaseJudge {
 public:
  RecordedJudge(std::string path, std::unique_ptr<Archive> archive, const CheckedModule& original,
                const JudgeOptions& options)
      : path_(std::move(path)),
        archive_(std::move(archive)),
        options_(options),
        prefixes_(PrefixesOf(original.module())) {
    const std::vector<const Instruction*> leaves = RootLeaves(original.module());
    for (const std::string& key : archive_->keys()) keys_[key.starts_with('%') ? key.substr(1) : key] = key;
    for (const std::string& prefix : prefixes_) {
      for (size_t i = 0; i < leaves.size(); ++i) {
        const std::string position = fmt::format("{}{}", prefix, i);
        if (keys_.contains(position)) keys_.emplace(prefix + std::string(leaves[i]->name()), position);
      }
    }
  }

  absl::Status Judge(const TestCase& test) const override {
    HLO_ASSIGN_OR_RETURN(const Literal result, RunCase(test, options_));
    absl::Status unread;
    int64_t compared = 0;
    const std::vector<const Instruction*> leaves = RootLeaves(test.module.module());
    const bool is_tuple = test.module.module().entry()->root()->opcode() == Opcode::kTuple;
    const int64_t count = DeviceCount(test.module);
    for (int64_t device = 0; device < count; ++device) {
      const Literal& device_result = OfDevice(result, device, count);
      for (size_t i = 0; i < leaves.size(); ++i) {
        const Literal& got = is_tuple ? device_result.elements()[i] : device_result;
        const absl::StatusOr<Literal> want = Recorded(*leaves[i], device);
        if (!want.ok()) {
          unread.Update(want.status());
          continue;
        }
        if (CompareValues(*want, got, {.rule = options_.rule})) return absl::OkStatus();
        ++compared;
      }
    }
    if (compared == 0) return unread;
    return absl::FailedPreconditionError(
        fmt::format("its results agree with {} of '{}'{}", Counted(compared, "array"), path_,
                    unread.ok() ? "" : fmt::format(", and others cannot be compared: {}", Message(unread))));
  }
  std::optional<Literal> Expected(const TestCase& test) const override {
    const std::vector<const Instruction*> leaves = RootLeaves(test.module.module());
    if (leaves.size() != 1) return std::nullopt;
    std::vector<Literal> all;
    for (int64_t device = 0; device < DeviceCount(test.module); ++device) {
      absl::StatusOr<Literal> value = Recorded(*leaves.front(), device);
      if (!value.ok()) return std::nullopt;
      all.push_back(*std::move(value));
    }
    return AllDevices(std::move(all));
  }
  bool needs_values() const override { return true; }
  std::string description() const override { return "--judge-diff " + path_; }

 private:
  // An array under the device's own prefix takes precedence.
  absl::StatusOr<Literal> Recorded(const Instruction& leaf, int64_t device) const {
    if (!leaf.shape().IsArray())
      return absl::FailedPreconditionError(fmt::format("'{}' is not an array", leaf.name()));
    const std::string name(leaf.name());
    auto key = keys_.find(prefixes_[static_cast<size_t>(device)] + name);
    if (key == keys_.end()) key = keys_.find(name);
    if (key == keys_.end())
      return absl::FailedPreconditionError(fmt::format("'{}' has no array for '{}'", path_, name));
    const std::lock_guard lock(mutex_);
    return archive_->Read(key->second, leaf.shape());
  }

  std::string path_;
  std::unique_ptr<Archive> archive_;
  JudgeOptions options_;
  std::vector<std::string> prefixes_;                   // By device.
  absl::flat_hash_map<std::string, std::string> keys_;  // By prefix and name of the instruction.
  mutable std::mutex mutex_;
};

// Reads the results of all devices.
absl::StatusOr<Literal> ReadOutputs(const std::string& path, const Module& module) {
  const Shape& shape = module.entry()->root()->shape();
  const std::vector<DevicePlace> places = PlacesOf(module);
  if (places.size() == 1) return ReadValue(path, shape);
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<Archive> archive, Archive::Open(path));
  std::vector<Literal> all;
  for (const DevicePlace& place : places) {
    HLO_ASSIGN_OR_RETURN(all.emplace_back(), ReadOfDevice(*archive, place, shape));
  }
  return AllDevices(std::move(all));
}

class AgainstJudge : public CaseJudge {
 public:
  AgainstJudge(std::string command, const JudgeOptions& options)
      : command_(std::move(command)), options_(options) {}
  absl::Status Judge(const TestCase& test) const override {
    HLO_ASSIGN_OR_RETURN(const Literal want, ResultsOfCommand(test));
    HLO_ASSIGN_OR_RETURN(const Literal got, RunCase(test, options_));
    if (CompareValues(want, got, {.rule = options_.rule})) return absl::OkStatus();
    return absl::FailedPreconditionError("the results of the command agree");
  }
  std::optional<Literal> Expected(const TestCase& test) const override {
    absl::StatusOr<Literal> value = ResultsOfCommand(test);
    return value.ok() ? std::optional<Literal>(*std::move(value)) : std::nullopt;
  }
  absl::Status CheckRuns(const TestCase& test) const override {
    return CheckCommand(command_, test, options_);
  }
  std::string description() const override { return "--judge-against " + command_; }

 private:
  absl::StatusOr<Literal> ResultsOfCommand(const TestCase& test) const {
    HLO_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
    HLO_ASSIGN_OR_RETURN(const CommandOutcome outcome, RunOn(command_, test, options_, folder));
    if (!outcome.ok()) return Failure(outcome);
    return ReadOutputs(folder.File("outputs.npz"), test.module.module());
  }

  std::string command_;
  JudgeOptions options_;
};

}  // namespace

std::optional<Literal> CaseJudge::Expected(const TestCase& test) const {
  absl::StatusOr<Literal> value = RunCase(test, {.engine = Engine::kReference});
  return value.ok() ? std::optional<Literal>(*std::move(value)) : std::nullopt;
}

absl::StatusOr<std::unique_ptr<CaseJudge>> MakeCommandJudge(const std::string& command,
                                                            const JudgeOptions& options) {
  if (!HasPlaceholder(command)) return absl::InvalidArgumentError("the command has no {} for the module");
  return std::make_unique<CommandJudge>(command, options);
}

std::unique_ptr<CaseJudge> MakeNanJudge(const TestCase& original, const JudgeOptions& options) {
  return std::make_unique<NanJudge>(original, options);
}

absl::StatusOr<std::unique_ptr<CaseJudge>> MakeRecordedJudge(const std::string& archive,
                                                             const CheckedModule& original,
                                                             const JudgeOptions& options) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<Archive> recorded, Archive::Open(archive));
  return std::make_unique<RecordedJudge>(archive, std::move(recorded), original, options);
}

absl::StatusOr<std::unique_ptr<CaseJudge>> MakeAgainstJudge(const std::string& command,
                                                            const JudgeOptions& options) {
  if (!HasPlaceholder(command) || !absl::StrContains(command, "{outputs}"))
    return absl::InvalidArgumentError("the command needs {hlo} and {outputs}");
  return std::make_unique<AgainstJudge>(command, options);
}

}  // namespace hlo::debug
