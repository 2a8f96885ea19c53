#include "debug/shadow/shadow.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "base/activity.h"
#include "base/deadline.h"
#include "base/status.h"
#include "debug/contributions.h"
#include "debug/loops.h"
#include "debug/shadow/device_run.h"
#include "debug/shadow/discrete_rules.h"
#include "debug/shadow/extended.h"
#include "debug/shadow/linear_rules.h"
#include "debug/shadow/measure.h"
#include "debug/shadow/shadow_exchange.h"
#include "debug/shadow/shadow_rules.h"
#include "debug/shadow/shadow_trials.h"
#include "debug/shadow/wide_module.h"
#include "debug/summary.h"
#include "fmt/format.h"
#include "ir/async.h"
#include "observe/work_estimate.h"
#include "reference/apply.h"
#include "reference/arguments.h"
#include "reference/evaluator.h"
#include "reference/program.h"
#include "reference/supported.h"

namespace hlo::debug {
namespace {

// True if an async computation has given its result.
bool IsComplete(const ShadowValue& result) { return result.is_tuple || result.declared.shape().IsValid(); }

// Returns a tuple of these values and of the contexts of a start, which are zeros.
absl::StatusOr<ShadowValue> Handle(const Instruction& start, std::vector<ShadowValue> values) {
  ShadowValue handle;
  handle.is_tuple = true;
  handle.elements = std::move(values);
  for (size_t i = handle.elements.size(); i < start.shape().elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(const Literal zeros,
                         Literal::CreateZeros(start.shape().element(static_cast<int64_t>(i))));
    handle.elements.push_back(NarrowShadow(zeros));
  }
  return handle;
}

std::vector<const Computation*> Reachable(const Module& module) {
  int64_t depth = 0;
  return reference::CalledFrom(*module.entry(), &depth);
}

// The copies of a module with other types.
struct WideModules {
  std::unique_ptr<WideModule> wide;
  std::unique_ptr<WideModule> pairs;  // Null if no instruction applies a computation to f64 or c128.
};

bool HoldsExtended(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray(ElementType::kF64) || shape.IsArray(ElementType::kC128);
  return std::any_of(shape.elements().begin(), shape.elements().end(), HoldsExtended);
}

absl::StatusOr<WideModules> MakeWideModules(const Module& module) {
  WideModules modules;
  HLO_ASSIGN_OR_RETURN(modules.wide, WideModule::Make(module));
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!AppliesScalarComputations(*instruction) || !HoldsExtended(instruction->shape())) continue;
      HLO_ASSIGN_OR_RETURN(modules.pairs, WideModule::MakePairs(module));
      return modules;
    }
  }
  return modules;
}

class ShadowEvaluator {
 public:
  ShadowEvaluator(const Module& module, const WideModules& wide, const EvaluateOptions& options,
                  const ShadowHook& hook)
      : wide_module_(*wide.wide),
        pair_module_(wide.pairs.get()),
        hook_(hook),
        link_(options.collectives == nullptr ? nullptr : std::make_unique<LayerLink>(*options.collectives)),
        options_(WithLink(options, link_.get())),
        computations_(Reachable(module)),
        wide_computations_(Reachable(wide.wide->module())),
        effects_(computations_),
        declared_caller_(computations_, options_),
        wide_caller_(wide_computations_, options_) {}

  absl::StatusOr<ShadowValue> CallEntry(const Computation& entry, const std::vector<Literal>& arguments) {
    return CallWith(entry,
                    [&](int64_t number) { return NarrowShadow(arguments[static_cast<size_t>(number)]); });
  }
  absl::StatusOr<ShadowValue> Call(const Computation& computation, std::vector<ShadowValue> arguments) {
    return CallWith(computation,
                    [&](int64_t number) { return std::move(arguments[static_cast<size_t>(number)]); });
  }

  std::vector<InstructionError> TakeErrors() { return std::move(errors_); }
  std::vector<ShadowDecision> TakeDecisions() { return std::move(decisions_); }
  bool is_uncertain() const { return is_uncertain_; }

 private:
  using ArgumentOf = absl::FunctionRef<absl::StatusOr<ShadowValue>(int64_t number)>;
  absl::StatusOr<ShadowValue> CallWith(const Computation& computation, ArgumentOf argument_of) {
    const reference::Program& program = ProgramOf(computation);
    std::vector<ShadowValue> values(computation.instructions().size());
    ++depth_;
    const absl::Cleanup leave = [this] { --depth_; };
    for (const reference::Step& step : program.steps) {
      HLO_RETURN_IF_ERROR(Deadline::Check());
      const Instruction& instruction = *step.instruction;
      ReportProgress(instruction);
      if (instruction.opcode() == Opcode::kParameter) {
        HLO_ASSIGN_OR_RETURN(values[static_cast<size_t>(step.slot)],
                             argument_of(instruction.Get<attr::number>()));
        continue;
      }
      if (instruction.opcode() == Opcode::kGetTupleElement) {
        const reference::Use& use = program.UsesOf(step).front();
        ShadowValue& tuple = values[static_cast<size_t>(use.slot)];
        if (tuple.is_tuple) {
          ShadowValue& element = tuple.elements[static_cast<size_t>(instruction.Get<attr::index>())];
          ShadowValue value = use.last ? std::move(element) : element;
          if (use.last) tuple = ShadowValue();
          values[static_cast<size_t>(step.slot)] = std::move(value);
          continue;
        }
      }
      std::vector<ShadowValue> operands;
      for (const reference::Use& use : program.UsesOf(step)) {
        ShadowValue& value = values[static_cast<size_t>(use.slot)];
        operands.push_back(use.last ? std::exchange(value, ShadowValue()) : value);
      }
      absl::StatusOr<ShadowValue> value = Compute(instruction, std::move(operands));
      EndStep(instruction);
      if (!value.ok()) return is_located_ ? value.status() : Locate(value.status(), instruction);
      values[static_cast<size_t>(step.slot)] = *std::move(value);
    }
    return std::move(values[static_cast<size_t>(computation.root()->index())]);
  }

  // Says several times a second which instruction is evaluated, and which part of the work is done.
  void ReportProgress(const Instruction& instruction) {
    if (!shows_progress_) return;
    if (loops_.empty()) work_.Begin(instruction, depth_);
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < std::chrono::milliseconds(100)) return;
    reported_ = now;
    work_.SetLoops(loops_);
    constexpr int64_t kTotal = 1'000'000;
    const std::optional<double> part = work_.DonePart();
    Report({.what = fmt::format("%{} ({}) in {}{}", instruction.name(), Name(instruction.opcode()),
                                instruction.parent()->name(), LoopsText(loops_)),
            .done = static_cast<int64_t>(part.value_or(0) * static_cast<double>(kTotal)),
            .total = part.has_value() ? kTotal : 0});
  }
  void EndStep(const Instruction& instruction) {
    if (shows_progress_ && loops_.empty())
      work_.End(instruction, depth_, [&] { return InstructionCost(instruction); });
  }

  static EvaluateOptions WithLink(EvaluateOptions options, LayerLink* link) {
    options.collectives = link;
    return options;
  }
  const reference::Program& ProgramOf(const Computation& computation) {
    std::unique_ptr<reference::Program>& program = programs_[&computation];
    if (program == nullptr)
      program = std::make_unique<reference::Program>(reference::MakeProgram(computation, effects_));
    return *program;
  }
  absl::Status Locate(const absl::Status& status, const Instruction& instruction) {
    is_located_ = true;
    return reference::Located(status, instruction);
  }

  absl::StatusOr<ShadowValue> Compute(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> While(const Instruction& loop, ShadowValue state);
  absl::StatusOr<ShadowValue> Conditional(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> StartAsync(const Instruction& instruction, std::vector<ShadowValue> bound,
                                         std::vector<ShadowValue> more);
  absl::StatusOr<ShadowValue> Exchange(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> Evaluate(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> MoveExact(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> EvaluateWide(const Instruction& instruction, std::vector<ShadowValue> operands);
  const Instruction* PairsOf(const Instruction& instruction) const;
  static bool UpdatesInPlace(const Instruction& instruction, const std::vector<ShadowValue>& operands);
  absl::StatusOr<ShadowValue> UpdateInPlace(const Instruction& instruction,
                                            std::vector<ShadowValue> operands);

  absl::Status Measure(const RuleContext& context, ShadowValue& result);
  absl::Status MeasureLeaf(const RuleContext& context, const ShadowValue& leaf, const ExtendedValue& local);
  InstructionError& ErrorOf(const Instruction& instruction);
  static void NoteCondition(const RuleContext& context, InstructionError& error);
  void NoteDecision(const RuleContext& context);
  void RecordControl(const Instruction& instruction, const ShadowValue& choice);
  void RecordIndex(const Instruction& instruction, int64_t operand, const Literal& index);

  const WideModule& wide_module_;
  const WideModule* const pair_module_;  // Null if no instruction needs it.
  const ShadowHook& hook_;
  const std::unique_ptr<LayerLink> link_;  // Null in a run of one device.
  const EvaluateOptions options_;
  const std::vector<const Computation*> computations_, wide_computations_;
  const reference::Effects effects_;
  reference::Evaluator declared_caller_, wide_caller_;
  absl::flat_hash_map<const Computation*, std::unique_ptr<reference::Program>> programs_;
  absl::flat_hash_map<const Instruction*, size_t> error_of_, decision_of_;
  std::vector<InstructionError> errors_;
  std::vector<ShadowDecision> decisions_;
  std::vector<RunningLoop> loops_;
  bool is_located_ = false, is_uncertain_ = false;
  TrialSigns signs_;
  std::chrono::steady_clock::time_point reported_;
  const bool shows_progress_ = CurrentActivityListener() != nullptr;
  WorkEstimate work_;
  int64_t depth_ = 0;
};

absl::StatusOr<ShadowValue> ShadowEvaluator::Compute(const Instruction& instruction,
                                                     std::vector<ShadowValue> operands) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return NarrowShadow(*instruction.Get<attr::literal>());
    case Opcode::kTuple: {
      ShadowValue tuple;
      tuple.is_tuple = true;
      tuple.elements = std::move(operands);
      return tuple;
    }
    case Opcode::kOptBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      return std::move(operands[0]);
    case Opcode::kCall:
    case Opcode::kFusion:
      return Call(*instruction.called_computations()[0], std::move(operands));
    case Opcode::kAllReduceDone:
      return std::move(operands[0]);
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncDone:
      return std::move(operands[0].elements[1]);
    case Opcode::kCopyStart:
      return Handle(instruction, {operands[0], operands[0]});
    case Opcode::kCopyDone:
      return std::move(operands[0].elements[0]);
    case Opcode::kAsyncStart:
      return StartAsync(instruction, {}, std::move(operands));
    case Opcode::kAsyncUpdate: {
      if (IsComplete(operands[0].elements[1])) return std::move(operands[0]);
      std::vector<ShadowValue> bound = std::move(operands[0].elements[0].elements);
      operands.erase(operands.begin());
      return StartAsync(instruction, std::move(bound), std::move(operands));
    }
    case Opcode::kWhile:
      return While(instruction, std::move(operands[0]));
    case Opcode::kConditional:
      return Conditional(instruction, std::move(operands));
    default:
      break;
  }
  if (IsExchange(instruction)) return Exchange(instruction, std::move(operands));
  return Evaluate(instruction, std::move(operands));
}

// The computation runs as soon as all of its arguments are bound, as in the reference.
absl::StatusOr<ShadowValue> ShadowEvaluator::StartAsync(const Instruction& instruction,
                                                        std::vector<ShadowValue> bound,
                                                        std::vector<ShadowValue> more) {
  const bool is_start = instruction.opcode() == Opcode::kAsyncStart;
  const Instruction* start =
      is_start ? &instruction : AsyncChains(*instruction.parent()->module()).FindStart(instruction);
  if (start == nullptr)
    return absl::FailedPreconditionError("it is not known which async-start this continues");
  const Computation& computation = *start->Get<attr::calls>();
  bound.insert(bound.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  const bool is_complete =
      std::equal(bound.begin(), bound.end(), computation.parameters().begin(), computation.parameters().end(),
                 [](const ShadowValue& argument, const Instruction* parameter) {
                   return Compatible(Declared(argument).shape(), parameter->shape());
                 });
  ShadowValue arguments, result;
  arguments.is_tuple = true;
  arguments.elements = bound;
  if (is_complete) {
    HLO_ASSIGN_OR_RETURN(result, Call(computation, std::move(bound)));
  }
  return Handle(instruction, {std::move(arguments), std::move(result)});
}

// The values, bounds and trials of all devices are exchanged together.
absl::StatusOr<ShadowValue> ShadowEvaluator::Exchange(const Instruction& instruction,
                                                      std::vector<ShadowValue> operands) {
  const Instruction& wide = wide_module_.Of(instruction);
  for (ShadowValue& operand : operands) HLO_RETURN_IF_ERROR(Materialize(operand));
  HLO_ASSIGN_OR_RETURN(ExchangedValue exchanged,
                       ApplyExchange({instruction, wide, PairsOf(instruction), operands, declared_caller_,
                                      wide_caller_, link_.get()}));
  InstructionError& error = ErrorOf(instruction);
  ++error.executions;
  error.is_estimated = error.is_estimated || exchanged.is_estimated;
  const std::vector<ShadowValue*> leaves = ShadowLeaves(exchanged.value);
  for (size_t k = 0; k < exchanged.leaves.size(); ++k) {
    if (!leaves[k]->is_float()) continue;
    RuleContext context{instruction,      wide,        nullptr, operands, leaves[k]->declared,
                        declared_caller_, wide_caller_};
    context.own_error = exchanged.leaves[k].own_error;
    context.ill_condition = exchanged.leaves[k].ill_condition;
    NoteCondition(context, error);
    if (!leaves[k]->is_exact()) HLO_RETURN_IF_ERROR(PerturbTrials(context, signs_, *leaves[k]));
    HLO_RETURN_IF_ERROR(
        MeasureLeaf(context, *leaves[k], {exchanged.leaves[k].local, exchanged.leaves[k].local_low}));
  }
  if (hook_) HLO_RETURN_IF_ERROR(hook_({instruction, loops_, operands, exchanged.value}));
  DropExactWide(exchanged.value);
  return std::move(exchanged.value);
}

absl::StatusOr<ShadowValue> ShadowEvaluator::While(const Instruction& loop, ShadowValue state) {
  loops_.push_back({.instruction = &loop});
  const size_t number = loops_.size() - 1;
  while (true) {
    HLO_ASSIGN_OR_RETURN(const ShadowValue predicate, Call(*loop.Get<attr::condition>(), {state}));
    RecordControl(loop, predicate);
    if (!*reinterpret_cast<const bool*>(predicate.declared.data())) break;
    ++loops_[number].iteration;
    std::vector<ShadowValue> arguments;
    arguments.push_back(std::move(state));
    HLO_ASSIGN_OR_RETURN(state, Call(*loop.Get<attr::body>(), std::move(arguments)));
  }
  loops_.pop_back();
  return state;
}

absl::StatusOr<ShadowValue> ShadowEvaluator::Conditional(const Instruction& instruction,
                                                         std::vector<ShadowValue> operands) {
  const auto branches = instruction.called_computations();
  const Literal& choice = operands[0].declared;
  auto branch = static_cast<int64_t>(branches.size()) - 1;
  if (IsPred(choice.type()))
    branch = *reinterpret_cast<const bool*>(choice.data()) ? 0 : 1;
  else if (choice.span<int32_t>()[0] >= 0)
    branch = std::min<int64_t>(branch, choice.span<int32_t>()[0]);
  RecordControl(instruction, operands[0]);
  return Call(*branches[static_cast<size_t>(branch)], {std::move(operands[static_cast<size_t>(branch) + 1])});
}

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

// Wide values of exact operands are computed for one instruction at a time, so that large ones, such as
// weights, need not be in memory.
absl::StatusOr<ShadowValue> ShadowEvaluator::Evaluate(const Instruction& instruction,
                                                      std::vector<ShadowValue> operands) {
  if (!hook_ && MovesExactFloats(instruction, operands)) return MoveExact(instruction, std::move(operands));
  if (hook_ || !TakesNarrowOperands(instruction)) {
    for (ShadowValue& operand : operands) HLO_RETURN_IF_ERROR(Materialize(operand));
  }
  HLO_ASSIGN_OR_RETURN(ShadowValue result, EvaluateWide(instruction, std::move(operands)));
  DropExactWide(result);
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
    RecordIndex(instruction, index - operands.begin(), index->declared);
  }
  if (!result.is_tuple && result.is_float()) ++ErrorOf(instruction).executions;
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
  if (!context.has_trials) HLO_RETURN_IF_ERROR(SetTrials(context, signs_, result));
  is_uncertain_ = is_uncertain_ || context.is_uncertain;
  if (context.decision.count > 0) NoteDecision(context);
  if (context.uncertain_index >= 0)
    RecordIndex(instruction, context.uncertain_index,
                operands[static_cast<size_t>(context.uncertain_index)].declared);
  HLO_RETURN_IF_ERROR(Measure(context, result));
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
  ++ErrorOf(instruction).executions;
  return result;
}

InstructionError& ShadowEvaluator::ErrorOf(const Instruction& instruction) {
  const auto [found, is_new] = error_of_.emplace(&instruction, errors_.size());
  if (is_new) errors_.push_back({.instruction = &instruction});
  return errors_[found->second];
}

void ShadowEvaluator::NoteCondition(const RuleContext& context, InstructionError& error) {
  if (context.ill_condition.relative <= error.relative_bound) return;
  error.relative_bound = context.ill_condition.relative;
  error.condition = context.ill_condition.condition;
  error.condition_index = IndexOf(context.declared, context.ill_condition.position);
}

// The instruction's own error is that of its result for the declared operands; the rest is inherited.
absl::Status ShadowEvaluator::Measure(const RuleContext& context, ShadowValue& result) {
  if (result.is_tuple || !result.is_float()) return absl::OkStatus();
  InstructionError& error = ErrorOf(context.instruction);
  ++error.executions;
  error.is_anchored = error.is_anchored || context.is_anchored;
  error.is_estimated = error.is_estimated || context.is_estimated;
  if (MovesValues(context.instruction) || context.is_anchored) return absl::OkStatus();
  NoteCondition(context, error);
  const bool all_exact =
      std::all_of(context.operands.begin(), context.operands.end(),
                  [](const ShadowValue& operand) { return !operand.is_tuple && operand.is_exact(); });
  if (all_exact) return MeasureLeaf(context, result, {result.wide, result.low});
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
  if (extended) return MeasureLeaf(context, result, extended->front());
  HLO_ASSIGN_OR_RETURN(const Literal local, ApplyWide(context, std::move(operands)));
  return MeasureLeaf(context, result, {local, Literal()});
}

absl::Status ShadowEvaluator::MeasureLeaf(const RuleContext& context, const ShadowValue& leaf,
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

void ShadowEvaluator::NoteDecision(const RuleContext& context) {
  const auto [found, is_new] = decision_of_.emplace(&context.instruction, decisions_.size());
  if (is_new) {
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
    decisions_.push_back(std::move(decision));
  }
  decisions_[found->second].count += context.decision.count;
}

// A choice that the bounds do not determine may differ in another evaluation.
void ShadowEvaluator::RecordControl(const Instruction& instruction, const ShadowValue& choice) {
  if (choice.is_exact()) return;
  if (Doubles(choice.bound)[0] == 0) return;
  is_uncertain_ = true;
  const auto [found, is_new] = decision_of_.emplace(&instruction, decisions_.size());
  if (is_new) {
    decisions_.push_back({.instruction = &instruction,
                          .declared = ElementText(choice.declared, 0),
                          .loops = loops_,
                          .is_control = true});
  }
  ++decisions_[found->second].count;
}

void ShadowEvaluator::RecordIndex(const Instruction& instruction, int64_t operand, const Literal& index) {
  const auto [found, is_new] = decision_of_.emplace(&instruction, decisions_.size());
  if (is_new) {
    const bool is_one = index.shape().IsArray() && index.element_count() == 1;
    const std::string name = fmt::format("%{}", instruction.operand(operand)->name());
    decisions_.push_back({.instruction = &instruction,
                          .declared = is_one ? ElementText(index, 0) : ToString(index.shape()),
                          .operands = is_one ? fmt::format("{} = {}", name, ElementText(index, 0)) : name,
                          .loops = loops_,
                          .is_index = true});
  }
  ++decisions_[found->second].count;
}

std::vector<const InstructionError*> Sorted(const ShadowReport& report, size_t count,
                                            double (*key)(const InstructionError&)) {
  std::vector<const InstructionError*> sorted;
  for (const InstructionError& error : report.errors) {
    if (key(error) > 0) sorted.push_back(&error);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const InstructionError* a, const InstructionError* b) { return key(*a) > key(*b); });
  if (sorted.size() > count) sorted.resize(count);
  return sorted;
}

// Returns the report of a device, without the bounds of trials. If the run fails, `partial` has what is known
// of the instructions before.
absl::StatusOr<ShadowReport> RunShadowOf(const CheckedModule& module, const WideModules& wide,
                                         const std::vector<Literal>& arguments,
                                         const EvaluateOptions& options, const ShadowHook& hook,
                                         ShadowReport* partial = nullptr) {
  const Deadline deadline(options.max_seconds, options.cancel);
  ShadowEvaluator evaluator(module.module(), wide, options, hook);
  ShadowReport report;
  absl::StatusOr<ShadowValue> result = evaluator.CallEntry(*module.module().entry(), arguments);
  const absl::Status status = result.status();
  if (status.ok()) {
    report.result = *std::move(result);
    HLO_RETURN_IF_ERROR(Materialize(report.result));
  }
  report.errors = evaluator.TakeErrors();
  report.decisions = evaluator.TakeDecisions();
  report.is_uncertain = evaluator.is_uncertain();
  if (status.ok()) return report;
  if (partial != nullptr) *partial = std::move(report);
  return status;
}

}  // namespace

absl::StatusOr<ShadowReport> RunShadow(const CheckedModule& module, const std::vector<Literal>& arguments,
                                       const EvaluateOptions& options, const ShadowHook& hook,
                                       ShadowReport* partial) {
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(Reachable(module.module()), options));
  HLO_RETURN_IF_ERROR(CheckArguments(*module.module().entry(), arguments));
  HLO_ASSIGN_OR_RETURN(const WideModules wide, MakeWideModules(module.module()));
  HLO_ASSIGN_OR_RETURN(ShadowReport report, RunShadowOf(module, wide, arguments, options, hook, partial));
  if (!report.is_uncertain) HLO_RETURN_IF_ERROR(TightenByTrials(report.result));
  return report;
}

absl::StatusOr<std::vector<ShadowReport>> RunShadowOnDevices(
    const CheckedModule& module, const std::vector<std::vector<Literal>>& arguments,
    const EvaluateOptions& options, const DevicesOptions& devices, const DeviceShadowHook& hook,
    std::vector<ShadowReport>* partial) {
  std::vector<ShadowReport> unused;
  std::vector<ShadowReport>& known = partial != nullptr ? *partial : unused;
  known.resize(arguments.size());
  const auto hook_of = [&](int64_t device) -> ShadowHook {
    if (!hook) return {};
    return [&hook, device](const ShadowStep& step) { return hook(device, step); };
  };
  if (arguments.size() == 1) {
    HLO_ASSIGN_OR_RETURN(ShadowReport report,
                         RunShadow(module, arguments[0], options, hook_of(0), known.data()));
    return std::vector<ShadowReport>{std::move(report)};
  }
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(Reachable(module.module()), options));
  for (const std::vector<Literal>& own : arguments)
    HLO_RETURN_IF_ERROR(CheckArguments(*module.module().entry(), own));
  HLO_ASSIGN_OR_RETURN(const WideModules wide, MakeWideModules(module.module()));
  std::vector<std::vector<const Computation*>> computations = {Reachable(module.module()),
                                                               Reachable(wide.wide->module())};
  if (wide.pairs != nullptr) computations.push_back(Reachable(wide.pairs->module()));
  HLO_ASSIGN_OR_RETURN(DeviceRunner runner, DeviceRunner::Make(module.module(), computations));
  std::vector<ShadowReport> reports(arguments.size());
  ActivityListener* const listener = CurrentActivityListener();
  HLO_RETURN_IF_ERROR(
      runner.Run(options, devices, [&](int64_t device, const EvaluateOptions& own) -> absl::Status {
        // All devices are about as far as the first one.
        const ActivityScope scope(device == 0 ? listener : nullptr);
        const auto number = static_cast<size_t>(device);
        HLO_ASSIGN_OR_RETURN(reports[number], RunShadowOf(module, wide, arguments[number], own,
                                                          hook_of(device), &known[number]));
        return absl::OkStatus();
      }));
  // Trials of one device depend on the choices of the others.
  const bool is_uncertain = std::any_of(reports.begin(), reports.end(),
                                        [](const ShadowReport& report) { return report.is_uncertain; });
  for (ShadowReport& report : reports) {
    report.is_uncertain = is_uncertain;
    if (!is_uncertain) HLO_RETURN_IF_ERROR(TightenByTrials(report.result));
  }
  return reports;
}

std::vector<const InstructionError*> WorstByAddedError(const ShadowReport& report, size_t count) {
  return Sorted(report, count, [](const InstructionError& error) { return error.added; });
}
std::vector<const InstructionError*> WorstByTotalError(const ShadowReport& report, size_t count) {
  return Sorted(report, count, [](const InstructionError& error) { return error.total; });
}
// Ill-conditioned: the relative error grows by more than 2^8.
std::vector<const InstructionError*> WorstConditions(const ShadowReport& report, size_t count) {
  constexpr double kIll = 256;
  return Sorted(report, count, [](const InstructionError& error) {
    return error.condition > kIll ? error.relative_bound : 0;
  });
}

}  // namespace hlo::debug
