#include "debug/shadow/shadow_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "debug/contributions.h"
#include "debug/shadow/measure.h"
#include "debug/summary.h"
#include "fmt/format.h"

namespace hlo::debug {

InstructionError& ShadowLog::ErrorOf(const Instruction& instruction) {
  const auto [found, is_new] = error_of_.emplace(&instruction, errors_.size());
  if (is_new) errors_.push_back({.instruction = &instruction});
  return errors_[found->second];
}

ShadowDecision& ShadowLog::DecisionOf(const Instruction& instruction,
                                      absl::FunctionRef<ShadowDecision()> first) {
  const auto [found, is_new] = decision_of_.emplace(&instruction, decisions_.size());
  if (is_new) decisions_.push_back(first());
  return decisions_[found->second];
}

void ShadowLog::NoteExchange(const Instruction& instruction, bool is_estimated) {
  InstructionError& error = ErrorOf(instruction);
  ++error.executions;
  error.is_estimated = error.is_estimated || is_estimated;
}

void ShadowLog::NoteCondition(const RuleContext& context) {
  InstructionError& error = ErrorOf(context.instruction);
  if (context.ill_condition.relative <= error.relative_bound) return;
  error.relative_bound = context.ill_condition.relative;
  error.condition = context.ill_condition.condition;
  error.condition_index = IndexOf(context.declared, context.ill_condition.position);
}

absl::Status ShadowLog::NoteResult(const RuleContext& context, const ShadowValue& result) {
  if (result.is_tuple || !result.is_float()) return absl::OkStatus();
  InstructionError& error = ErrorOf(context.instruction);
  ++error.executions;
  error.is_anchored = error.is_anchored || context.is_anchored;
  error.is_estimated = error.is_estimated || context.is_estimated;
  if (MovesValues(context.instruction) || context.is_anchored) return absl::OkStatus();
  NoteCondition(context);
  const bool all_exact =
      std::all_of(context.operands.begin(), context.operands.end(),
                  [](const ShadowValue& operand) { return !operand.is_tuple && operand.is_exact(); });
  if (all_exact) return NoteArray(context, result, {result.wide, result.low});
  std::vector<ShadowValue> exact;
  std::vector<Literal> operands;
  for (const ShadowValue& operand : context.operands) {
    // The wide value of an exact operand is the declared one.
    ShadowValue value = operand;
    if (operand.is_tuple || !operand.is_exact()) {
      HLO_ASSIGN_OR_RETURN(value, ExactShadow(Declared(operand)));
    }
    operands.push_back(value.is_float() ? WideOrDeclared(value) : Declared(value));
    exact.push_back(std::move(value));
  }
  HLO_ASSIGN_OR_RETURN(const std::optional<ExtendedValues> extended, ExtendedResult(context, exact));
  if (extended) return NoteArray(context, result, extended->front());
  HLO_ASSIGN_OR_RETURN(const Literal local, ApplyWide(context, std::move(operands)));
  return NoteArray(context, result, {local, Literal()});
}

absl::Status ShadowLog::NoteArray(const RuleContext& context, const ShadowValue& leaf,
                                  const ExtendedValue& local) {
  HLO_ASSIGN_OR_RETURN(const ArrayError measured, MeasureArray(leaf, local));
  InstructionError& error = ErrorOf(context.instruction);
  error.inherited = std::max(error.inherited, measured.inherited);
  error.added = std::max(error.added, measured.added);
  error.bound = std::max(error.bound, measured.bound);
  if (measured.total <= error.total) return absl::OkStatus();
  error.total = measured.total;
  error.bound_there = measured.bound_there;
  error.index = IndexOf(leaf.declared, measured.worst);
  error.loops = loops_;
  error.operands.clear();
  for (size_t k = 0; k < context.operands.size(); ++k) {
    if (context.operands[k].is_tuple) continue;
    error.operands += (k == 0 ? "" : ", ") + ContributionText(context.instruction, static_cast<int64_t>(k),
                                                              context.operands[k].declared, error.index);
  }
  return absl::OkStatus();
}

void ShadowLog::NoteDecision(const RuleContext& context) {
  ShadowDecision& noted = DecisionOf(context.instruction, [&] {
    ShadowDecision decision{.instruction = &context.instruction, .loops = loops_};
    const bool is_tuple = context.declared.shape().IsTuple();
    const Literal& declared = is_tuple ? context.declared.element(0) : context.declared;
    decision.index = IndexOf(declared, context.decision.position);
    decision.declared = ElementText(declared, context.decision.position);
    for (size_t k = 0; k < context.operands.size(); ++k) {
      decision.operands +=
          (k == 0 ? "" : ", ") + ContributionText(context.instruction, static_cast<int64_t>(k),
                                                  context.operands[k].declared, decision.index);
    }
    return decision;
  });
  noted.count += context.decision.count;
}

void ShadowLog::NoteControl(const Instruction& instruction, const ShadowValue& choice) {
  if (!MayDiffer(choice)) return;
  is_uncertain_ = true;
  ShadowDecision& noted = DecisionOf(instruction, [&] {
    return ShadowDecision{.instruction = &instruction,
                          .declared = ElementText(choice.declared, 0),
                          .loops = loops_,
                          .is_control = true};
  });
  ++noted.count;
}

void ShadowLog::NoteIndex(const Instruction& instruction, int64_t operand, const Literal& index) {
  ShadowDecision& noted = DecisionOf(instruction, [&] {
    const bool is_one = index.shape().IsArray() && index.element_count() == 1;
    const std::string name = fmt::format("%{}", instruction.operand(operand)->name());
    return ShadowDecision{.instruction = &instruction,
                          .declared = is_one ? ElementText(index, 0) : ToString(index.shape()),
                          .operands = is_one ? fmt::format("{} = {}", name, ElementText(index, 0)) : name,
                          .loops = loops_,
                          .is_index = true};
  });
  ++noted.count;
}

void ShadowLog::MoveTo(ShadowReport& report) {
  report.errors = std::move(errors_);
  report.decisions = std::move(decisions_);
  report.is_uncertain = is_uncertain_;
}

}  // namespace hlo::debug
