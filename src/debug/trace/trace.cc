#include "debug/trace/trace.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "debug/exposed_run.h"
#include "debug/loops.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hlo::debug {
namespace {

// True for instructions of computations that others apply to scalars, and of those that these call.
absl::flat_hash_set<const Computation*> ScalarComputations(const Module& module) {
  absl::flat_hash_set<const Computation*> scalar;
  const auto computations = module.computations();
  for (auto caller = computations.rbegin(); caller != computations.rend(); ++caller) {
    for (const Instruction* instruction : (*caller)->instructions()) {
      const bool calls_whole =
          instruction->opcode() == Opcode::kCall || instruction->opcode() == Opcode::kFusion ||
          instruction->opcode() == Opcode::kWhile || instruction->opcode() == Opcode::kConditional ||
          Info(instruction->opcode()).has(kAsync);
      if (calls_whole && !scalar.contains(*caller)) continue;
      for (const Computation* callee : instruction->called_computations()) scalar.insert(callee);
    }
  }
  return scalar;
}

// Returns the names that instructions of several computations have.
absl::flat_hash_set<std::string_view> RepeatedNames(const Module& module) {
  absl::flat_hash_set<std::string_view> names, repeated;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!names.insert(instruction->name()).second) repeated.insert(instruction->name());
    }
  }
  return repeated;
}

// Returns the instruction of the same computation whose value a copy of an array has; the instruction itself
// if it is no copy. The fast engine does not execute copies.
const Instruction* CopiedBy(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kCopy && instruction->shape().IsArray())
    instruction = instruction->operand(0);
  return instruction;
}

class Tracer : public Observer {
 public:
  // `other` also sees the steps; it may be null.
  Tracer(const TraceOptions& options, const absl::flat_hash_set<std::string_view>& repeated_names,
         bool sees_scalars, const std::function<absl::Status(const TraceRecord&)>& sink, Observer* other)
      : options_(options),
        repeated_names_(repeated_names),
        sees_scalars_(sees_scalars),
        sink_(sink),
        other_(other) {}
  // Ends the run when a record exceeds max_records, instead of counting the records that are left out.
  void EndAtLimit() { ends_at_limit_ = true; }

  bool needs_scalar_steps() const override { return sees_scalars_; }
  absl::Status BeforeStep(const StepView& step) override {
    return other_ == nullptr ? absl::OkStatus() : other_->BeforeStep(step);
  }
  void Finish(const absl::Status& outcome) override {
    if (other_ != nullptr) other_->Finish(outcome);
  }
  absl::Status AfterStep(const StepView& step) override {
    const bool is_reference = step.kernel() == "reference";
    if (is_reference && !IsWanted(step.instruction())) return absl::OkStatus();
    for (const StepValue& write : step.Writes()) {
      if (copied_.contains(write.instruction)) continue;
      HLO_RETURN_IF_ERROR(RecordIfWanted(step, write));
      const auto copies = copies_.find(write.instruction);
      if (copies == copies_.end()) continue;
      for (const Instruction* copy : copies->second) {
        copied_.insert(copy);
        HLO_RETURN_IF_ERROR(RecordIfWanted(step, {copy, 0, write.value}));
      }
    }
    return absl::OkStatus();
  }

  // Records wanted copies with the values that they copy.
  void FollowCopies(const Module& module) {
    for (const Computation* computation : module.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        const Instruction* source = CopiedBy(instruction);
        if (source != instruction && IsWanted(*instruction)) copies_[source].push_back(instruction);
      }
    }
  }

  // The instructions that an earlier run has shown are not shown again.
  void Skip(absl::flat_hash_set<const Instruction*> instructions) { skipped_ = std::move(instructions); }
  const absl::flat_hash_set<const Instruction*>& executed() const { return executed_; }
  int64_t left_out() const { return left_out_; }
  int64_t last_iteration() const { return last_iteration_; }
  bool has_ended() const { return has_ended_; }
  int64_t count() const { return count_; }
  void set_count(int64_t count) { count_ = count; }

 private:
  bool IsWanted(const Instruction& instruction) const {
    return options_.selected.contains(&instruction) && !skipped_.contains(&instruction);
  }
  absl::Status RecordIfWanted(const StepView& step, const StepValue& write) {
    if (!IsWanted(*write.instruction)) return absl::OkStatus();
    executed_.insert(write.instruction);
    return Record(step, write);
  }
  bool IsInIteration(const std::vector<RunningLoop>& loops) const {
    const std::vector<int64_t>& wanted = options_.iteration;
    if (loops.size() < wanted.size()) return false;
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (loops[loops.size() - wanted.size() + k].iteration != wanted[k]) return false;
    }
    return true;
  }
  absl::Status Record(const StepView& step, const StepValue& write) {
    std::vector<RunningLoop> loops = step.loops();
    if (!loops.empty()) last_iteration_ = std::max(last_iteration_, loops.back().iteration);
    if (!IsInIteration(loops)) return absl::OkStatus();
    if (count_++ >= options_.max_records) {
      if (ends_at_limit_) {
        has_ended_ = true;
        return absl::CancelledError("the maximum number of records is reached");
      }
      ++left_out_;
      return absl::OkStatus();
    }
    const std::vector<int64_t> iterations = IterationsOf(loops);
    auto& [last, execution] = executions_[{write.instruction, write.leaf}];
    execution = last == iterations ? execution + 1 : 1;
    last = iterations;
    return sink_({write.instruction, !repeated_names_.contains(write.instruction->name()), write.leaf,
                  execution, std::move(loops), step.kernel(), write.value});
  }

  const TraceOptions& options_;
  const absl::flat_hash_set<std::string_view>& repeated_names_;
  const bool sees_scalars_;
  const std::function<absl::Status(const TraceRecord&)>& sink_;
  Observer* const other_;
  absl::flat_hash_set<const Instruction*> executed_, skipped_;
  absl::flat_hash_map<const Instruction*, std::vector<const Instruction*>> copies_;  // By what they copy.
  absl::flat_hash_set<const Instruction*> copied_;  // Those recorded with the value of another.
  absl::flat_hash_map<std::pair<const Instruction*, int64_t>, std::pair<std::vector<int64_t>, int64_t>>
      executions_;
  int64_t count_ = 0, left_out_ = 0, last_iteration_ = 0;
  bool ends_at_limit_ = false, has_ended_ = false;
};

bool NeedsScalarSteps(const CheckedModule& module,
                      const absl::flat_hash_set<const Instruction*>& instructions) {
  const auto scalar = ScalarComputations(module.module());
  return std::any_of(instructions.begin(), instructions.end(),
                     [&](const Instruction* i) { return scalar.contains(i->parent()); });
}

}  // namespace

std::string KeyOf(const TraceRecord& record) {
  std::string key;
  if (!record.has_unique_name) key = fmt::format("{}/", record.instruction->parent()->name());
  key += record.instruction->name();
  if (record.instruction->shape().IsTuple()) key += fmt::format(".{}", record.leaf);
  for (size_t k = 0; k < record.loops.size(); ++k)
    key += fmt::format("{}{}", k == 0 ? "@" : ".", record.loops[k].iteration);
  return record.execution == 1 ? key : key + fmt::format("#{}", record.execution);
}

std::string HeadingOf(const TraceRecord& record) {
  std::string text = fmt::format("%{}", record.instruction->name());
  if (record.instruction->shape().IsTuple()) text += fmt::format(" {{{}}}", record.leaf);
  text += fmt::format(" = {} {}", ToString(record.value.shape(), {.layouts = false}),
                      Name(record.instruction->opcode()));
  text += LoopsText(record.loops);
  return record.execution == 1 ? text : text + fmt::format(", execution {}", record.execution);
}

absl::StatusOr<std::vector<int64_t>> ParseIteration(std::string_view text) {
  std::vector<int64_t> iterations;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('.'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    int64_t number = -1;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || stop != part.data() + part.size() || number < 0) {
      return absl::InvalidArgumentError(
          fmt::format("--iteration takes numbers such as 3, or 2.3 for iteration 3 in iteration 2 of the "
                      "outer loop, but not '{}'",
                      part));
    }
    iterations.push_back(number);
  }
  return iterations;
}

absl::StatusOr<TraceOutcome> Trace(const CheckedModule& module, const WatchedArguments& arguments,
                                   Engine engine, const EvaluateOptions& options, const TraceOptions& trace,
                                   const std::function<absl::Status(const TraceRecord&)>& sink) {
  TraceOutcome outcome;
  const absl::flat_hash_set<std::string_view> repeated = RepeatedNames(module.module());
  Tracer first(trace, repeated, engine == Engine::kReference && NeedsScalarSteps(module, trace.selected),
               sink, options.observer);
  if (engine == Engine::kFast) first.FollowCopies(module.module());
  EvaluateOptions observed = options;
  observed.observer = &first;
  HLO_ASSIGN_OR_RETURN(outcome.result, RunExposed(module, arguments, engine, observed));
  outcome.left_out = first.left_out();
  outcome.last_iteration = first.last_iteration();
  absl::flat_hash_set<const Instruction*> executed = first.executed();
  absl::flat_hash_set<const Instruction*> rest = trace.selected;
  absl::erase_if(rest, [&](const Instruction* i) { return executed.contains(i); });
  if (engine == Engine::kFast && !rest.empty() && outcome.left_out > 0) {
    outcome.has_more = true;
  } else if (engine == Engine::kFast && !rest.empty()) {
    Tracer second(trace, repeated, NeedsScalarSteps(module, rest), sink, options.observer);
    second.Skip(executed);
    second.set_count(first.count());
    second.EndAtLimit();
    observed.observer = &second;
    const absl::Status status = RunExposed(module, arguments, Engine::kReference, observed).status();
    outcome.has_more = second.has_ended();
    outcome.last_iteration = std::max(outcome.last_iteration, second.last_iteration());
    if (!outcome.has_more) HLO_RETURN_IF_ERROR(status);
    absl::erase_if(rest, [&](const Instruction* i) { return second.executed().contains(i); });
  }
  outcome.missing.assign(rest.begin(), rest.end());
  std::sort(outcome.missing.begin(), outcome.missing.end(),
            [](const Instruction* a, const Instruction* b) { return a->name() < b->name(); });
  return outcome;
}

}  // namespace hlo::debug
