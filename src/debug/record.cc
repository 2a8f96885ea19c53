#include "debug/record.h"

#include "base/counted.h"
#include "base/status.h"
#include "build/extract.h"
#include "debug/golden_folder.h"
#include "fmt/format.h"
#include "hlo_run/execute.h"
#include "hlo_run/observer.h"

namespace hlo::debug {
namespace {

// Records the values of instructions at their n-th execution.
class Recorder : public Observer {
 public:
  Recorder(absl::Span<const Instruction* const> instructions, int64_t execution) : execution_(execution) {
    for (const Instruction* instruction : instructions) counts_[instruction] = 0;
  }
  bool needs_operands() const override { return true; }
  absl::Status AfterStep(const StepView& step) override {
    const auto found = counts_.find(&step.instruction());
    if (found == counts_.end() || ++found->second != execution_) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(values[found->first], step.Result());
    return absl::OkStatus();
  }
  RecordedValues values;

 private:
  int64_t execution_;
  absl::flat_hash_map<const Instruction*, int64_t> counts_;
};

// Computes instructions of the entry computation with the fast engine, as the results of an extracted module.
absl::StatusOr<RecordedValues> ComputeInEntry(const Module& module,
                                              absl::Span<const Instruction* const> instructions,
                                              std::vector<Literal> arguments) {
  RecordedValues values;
  std::vector<const Instruction*> computed;
  for (const Instruction* instruction : instructions) {
    if (instruction->opcode() == Opcode::kParameter)
      values[instruction] = arguments[static_cast<size_t>(instruction->Get<attr::number>())];
    else
      computed.push_back(instruction);
  }
  if (computed.empty()) return values;
  HLO_ASSIGN_OR_RETURN(const CheckedModule part,
                       CheckedText(Extract(module, computed, {.keep_parameters = true}).text));
  HLO_ASSIGN_OR_RETURN(const Literal result, Execute(part, std::move(arguments), Engine::kFast));
  for (size_t i = 0; i < computed.size(); ++i)
    values[computed[i]] = computed.size() == 1 ? result : result.elements()[i];
  return values;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string_view>& names) {
  const std::string_view near = ClosestName(name, names);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

}  // namespace

absl::StatusOr<const Instruction*> FindInstruction(const Module& module, std::string name) {
  if (name.starts_with('%')) name.erase(0, 1);
  const Instruction* found = nullptr;
  std::vector<std::string_view> names;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      names.push_back(instruction->name());
      const bool is_better = found == nullptr || computation == module.entry();
      if (instruction->name() == name && is_better) found = instruction;
    }
  }
  if (found != nullptr) return found;
  return absl::InvalidArgumentError(
      fmt::format("there is no instruction '{}'{}", name, DidYouMean(name, names)));
}

absl::StatusOr<const Computation*> FindComputation(const Module& module, std::string name) {
  if (name.starts_with('%')) name.erase(0, 1);
  if (const Computation* found = module.FindComputation(name)) return found;
  std::vector<std::string_view> names;
  for (const Computation* computation : module.computations()) names.push_back(computation->name());
  return absl::InvalidArgumentError(
      fmt::format("there is no computation '{}'{}", name, DidYouMean(name, names)));
}

absl::StatusOr<RecordedValues> RecordValues(const CheckedModule& module,
                                            absl::Span<const Instruction* const> instructions,
                                            const WatchedArguments& arguments, int64_t execution) {
  const bool in_entry = instructions.empty() || instructions.front()->parent() == module.module().entry();
  if (in_entry && arguments.by_device.size() == 1)
    return ComputeInEntry(module.module(), instructions, arguments.watched());
  Recorder recorder(instructions, execution);
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, Engine::kReference));
  HLO_RETURN_IF_ERROR(RunWatched(executable, arguments, {.observer = &recorder}).status());
  for (const Instruction* instruction : instructions) {
    if (in_entry && instruction->opcode() == Opcode::kParameter)
      recorder.values[instruction] =
          arguments.watched()[static_cast<size_t>(instruction->Get<attr::number>())];
    if (recorder.values.contains(instruction)) continue;
    return absl::FailedPreconditionError(
        fmt::format("'{}' is executed less than {}", instruction->name(), Counted(execution, "time")));
  }
  return std::move(recorder.values);
}

}  // namespace hlo::debug
