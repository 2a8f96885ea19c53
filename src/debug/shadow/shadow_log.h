#pragma once
// The errors and the decisions that a shadow evaluation reports.

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "debug/shadow/extended.h"
#include "debug/shadow/shadow.h"
#include "debug/shadow/shadow_rules.h"

namespace hlo::debug {

class ShadowLog {
 public:
  // `loops` are the running loops of the evaluation, which entries of the log copy.
  explicit ShadowLog(const std::vector<RunningLoop>& loops) : loops_(loops) {}

  // Counts an execution of an instruction without an error of its own.
  void NoteExecution(const Instruction& instruction) { ++ErrorOf(instruction).executions; }
  // Notes the error of a result. The instruction's own error is that of its result for the declared operands;
  // the rest is inherited.
  absl::Status NoteResult(const RuleContext& context, const ShadowValue& result);
  // Notes one execution of a collective.
  void NoteExchange(const Instruction& instruction, bool is_estimated);
  // Notes the error of an array of a result. `local` has its wide value for the declared operands.
  absl::Status NoteArray(const RuleContext& context, const ShadowValue& leaf, const ExtendedValue& local);
  void NoteCondition(const RuleContext& context);
  // Notes the elements that the wide precision decides otherwise.
  void NoteDecision(const RuleContext& context);
  // Notes a choice of a loop or a conditional if the bounds do not determine it.
  void NoteControl(const Instruction& instruction, const ShadowValue& choice);
  // Notes that an operand is an index which may have another value.
  void NoteIndex(const Instruction& instruction, int64_t operand, const Literal& index);
  void NoteUncertain(bool is_uncertain) { is_uncertain_ = is_uncertain_ || is_uncertain; }

  // Moves the entries into a report.
  void MoveTo(ShadowReport& report);

 private:
  InstructionError& ErrorOf(const Instruction& instruction);
  // Returns the entry of an instruction; a new one is `first`.
  ShadowDecision& DecisionOf(const Instruction& instruction, absl::FunctionRef<ShadowDecision()> first);

  const std::vector<RunningLoop>& loops_;
  absl::flat_hash_map<const Instruction*, size_t> error_of_, decision_of_;
  std::vector<InstructionError> errors_;
  std::vector<ShadowDecision> decisions_;
  bool is_uncertain_ = false;
};

}  // namespace hlo::debug
