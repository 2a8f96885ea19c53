// The part of the shadow evaluator for instructions other than control flow, calls and collectives.

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "debug/shadow/discrete_rules.h"
#include "debug/shadow/extended.h"
#include "debug/shadow/shadow_evaluator.h"
#include "debug/shadow/shadow_rules.h"
#include "reference/apply.h"

namespace hlo::debug {
namespace {

// True for integers and predicates that are computed from exact ones, such as counters of loops.
bool IsDiscrete(const Literal& declared, const std::vector<ShadowValue>& operands) {
  return declared.shape().IsArray() && !IsFloatOrComplex(declared.type()) &&
         std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
           return !operand.is_tuple && !operand.is_float() && operand.is_exact();
         });
}

void SetExtended(ExtendedValues values, ShadowValue& result) {
  const std::vector<ShadowValue*> leaves = ShadowLeaves(result);
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (!values[k].high.shape().IsValid()) continue;
    leaves[k]->wide = std::move(values[k].high);
    leaves[k]->low = std::move(values[k].low);
  }
}

// True if the wide result is the declared one: exact values move, to positions that may be uncertain.
bool MovesExactFloats(const Instruction& instruction, const std::vector<ShadowValue>& operands) {
  if (!MovesValues(instruction)) return false;
  if (std::all_of(operands.begin(), operands.end(), IsExact)) return true;
  const Shape& shape = instruction.shape();
  return instruction.opcode() != Opcode::kSelect && shape.IsArray() && IsFloat(shape.type()) &&
         std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
           return !operand.is_tuple && (!operand.is_float() || operand.is_exact());
         });
}

// The reference multiplies operands of different types.
bool TakesNarrowOperands(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kDot && IsFloat(instruction.operand(0)->shape().type()) &&
         IsFloat(instruction.operand(1)->shape().type());
}

}  // namespace

// Wide values of exact operands are computed for one instruction at a time, so that large ones, such as
// weights, need not be in memory.
absl::StatusOr<ShadowValue> ShadowEvaluator::Evaluate(const Instruction& instruction,
                                                      std::vector<ShadowValue> operands) {
  const bool is_estimated = std::any_of(operands.begin(), operands.end(), IsEstimated);
  ShadowValue result;
  if (!hook_ && MovesExactFloats(instruction, operands)) {
    HLO_ASSIGN_OR_RETURN(result, MoveExact(instruction, std::move(operands)));
  } else {
    if (hook_ || !TakesNarrowOperands(instruction)) {
      for (ShadowValue& operand : operands) HLO_RETURN_IF_ERROR(Materialize(operand));
    }
    HLO_ASSIGN_OR_RETURN(result, EvaluateWide(instruction, std::move(operands)));
    DropExactWide(result);
  }
  if (is_estimated) MarkEstimated(result);
  return result;
}

// After an uncertain index, elements may be any of the operands.
absl::StatusOr<ShadowValue> ShadowEvaluator::MoveExact(const Instruction& instruction,
                                                       std::vector<ShadowValue> operands) {
  const bool is_certain = std::all_of(operands.begin(), operands.end(), IsExact);
  std::vector<Literal> literals;
  for (ShadowValue& operand : operands) {
    literals.push_back(Declared(operand));
    if (is_certain) operand = ShadowValue();
  }
  reference::OpContext op{instruction, absl::MakeSpan(literals), declared_caller_};
  HLO_ASSIGN_OR_RETURN(const Literal declared,
                       reference::Apply(op, reference::Reference(instruction.opcode())));
  ShadowValue result = NarrowShadow(declared);
  if (!is_certain) {
    HLO_RETURN_IF_ERROR(Materialize(result));
    HLO_RETURN_IF_ERROR(BoundUncertainMove(instruction, operands, result));
    const auto index = std::find_if(operands.begin(), operands.end(), IsUncertainIndex);
    log_.NoteIndex(instruction, index - operands.begin(), index->declared);
  }
  if (!result.is_tuple && result.is_float()) log_.NoteExecution(instruction);
  return result;
}

absl::StatusOr<ShadowValue> ShadowEvaluator::EvaluateWide(const Instruction& instruction,
                                                          std::vector<ShadowValue> operands) {
  if (!hook_ && UpdatesInPlace(instruction, operands)) return UpdateInPlace(instruction, std::move(operands));
  std::vector<Literal> declared_operands;
  for (const ShadowValue& operand : operands) declared_operands.push_back(Declared(operand));
  // `operands` shares each literal, which prevents in-place updates.
  reference::OpContext op{instruction, absl::MakeSpan(declared_operands), declared_caller_};
  HLO_ASSIGN_OR_RETURN(const Literal declared,
                       reference::Apply(op, reference::Reference(instruction.opcode())));
  if (IsDiscrete(declared, operands)) {
    ShadowValue result;
    result.declared = declared;
    if (hook_) HLO_RETURN_IF_ERROR(hook_({instruction, loops_, operands, result}));
    return result;
  }
  RuleContext context{
      instruction, wide_module_.Of(instruction), PairsOf(instruction), operands, declared, declared_caller_,
      wide_caller_};
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ApplyRule(context));
  HLO_ASSIGN_OR_RETURN(std::optional<ExtendedValues> extended, ExtendedResult(context, operands));
  if (extended) SetExtended(*std::move(extended), result);
  if (context.is_estimated) MarkEstimated(result);
  if (!context.has_trials) HLO_RETURN_IF_ERROR(SetTrials(context, signs_, result));
  log_.NoteUncertain(context.is_uncertain);
  if (context.decision.count > 0) log_.NoteDecision(context);
  if (context.uncertain_index >= 0)
    log_.NoteIndex(instruction, context.uncertain_index,
                   operands[static_cast<size_t>(context.uncertain_index)].declared);
  HLO_RETURN_IF_ERROR(log_.NoteResult(context, result));
  if (hook_) HLO_RETURN_IF_ERROR(hook_({instruction, loops_, operands, result}));
  return result;
}

const Instruction* ShadowEvaluator::PairsOf(const Instruction& instruction) const {
  return pair_module_ != nullptr && AppliesScalarComputations(instruction) ? &pair_module_->Of(instruction)
                                                                           : nullptr;
}

// Without these restrictions, the operands are read again after the update.
bool ShadowEvaluator::UpdatesInPlace(const Instruction& instruction,
                                     const std::vector<ShadowValue>& operands) {
  return instruction.opcode() == Opcode::kDynamicUpdateSlice &&
         operands[0].wide.shape().IsArray(ElementType::kF64) &&
         std::all_of(operands.begin() + 2, operands.end(),
                     [](const ShadowValue& start) { return start.is_exact(); });
}

// Returns a dynamic-update-slice of each array of the operands, which reuses their memory if it is unshared.
absl::StatusOr<ShadowValue> ShadowEvaluator::UpdateInPlace(const Instruction& instruction,
                                                           std::vector<ShadowValue> operands) {
  ShadowValue &array = operands[0], &update = operands[1], result;
  const Instruction& wide = wide_module_.Of(instruction);
  const auto apply = [&](const Instruction& applied, reference::Evaluator& caller, Literal into,
                         Literal from) {
    std::vector<Literal> literals;
    literals.push_back(std::move(into));
    literals.push_back(std::move(from));
    for (size_t i = 2; i < operands.size(); ++i) literals.push_back(operands[i].declared);
    reference::OpContext op{applied, absl::MakeSpan(literals), caller};
    return reference::Apply(op, reference::Reference(applied.opcode()));
  };
  if (!array.trials.empty() || !update.trials.empty()) {
    for (size_t t = 0; t < kTrialCount; ++t) {
      HLO_ASSIGN_OR_RETURN(
          Literal trial,
          apply(wide, wide_caller_, array.trials.empty() ? array.wide : std::move(array.trials[t]),
                update.trials.empty() ? update.wide : update.trials[t]));
      result.trials.push_back(std::move(trial));
    }
  }
  if (array.low.shape().IsValid() || update.low.shape().IsValid()) {
    HLO_ASSIGN_OR_RETURN(Literal array_low, LowOf(array));
    HLO_ASSIGN_OR_RETURN(Literal update_low, LowOf(update));
    array.low = Literal();
    HLO_ASSIGN_OR_RETURN(result.low, apply(wide, wide_caller_, std::move(array_low), std::move(update_low)));
  }
  if (!array.is_exact() || !update.is_exact()) {
    HLO_ASSIGN_OR_RETURN(Literal array_bound, BoundOf(array));
    HLO_ASSIGN_OR_RETURN(Literal update_bound, BoundOf(update));
    array.bound = Literal();
    HLO_ASSIGN_OR_RETURN(result.bound,
                         apply(wide, wide_caller_, std::move(array_bound), std::move(update_bound)));
  }
  HLO_ASSIGN_OR_RETURN(result.wide, apply(wide, wide_caller_, std::move(array.wide), update.wide));
  HLO_ASSIGN_OR_RETURN(result.declared,
                       apply(instruction, declared_caller_, std::move(array.declared), update.declared));
  log_.NoteExecution(instruction);
  return result;
}

}  // namespace hlo::debug
