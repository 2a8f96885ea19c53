#include "debug/shadow/shadow_evaluator.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/deadline.h"
#include "base/status.h"
#include "debug/loops.h"
#include "debug/shadow/extended.h"
#include "debug/shadow/shadow_exchange.h"
#include "fmt/format.h"
#include "ir/async.h"

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

bool HoldsExtended(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray(ElementType::kF64) || shape.IsArray(ElementType::kC128);
  return std::any_of(shape.elements().begin(), shape.elements().end(), HoldsExtended);
}

EvaluateOptions WithLink(EvaluateOptions options, LayerLink* link) {
  options.collectives = link;
  return options;
}

}  // namespace

std::vector<const Computation*> Reachable(const Module& module) {
  int64_t depth = 0;
  return reference::CalledFrom(*module.entry(), &depth);
}

absl::StatusOr<WideModules> WideModules::Make(const Module& module) {
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

ShadowEvaluator::ShadowEvaluator(const Module& module, const WideModules& wide,
                                 const EvaluateOptions& options, const ShadowHook& hook)
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

absl::StatusOr<ShadowValue> ShadowEvaluator::CallEntry(const Computation& entry,
                                                       const std::vector<Literal>& arguments) {
  return CallWith(entry,
                  [&](int64_t number) { return NarrowShadow(arguments[static_cast<size_t>(number)]); });
}

absl::StatusOr<ShadowValue> ShadowEvaluator::Call(const Computation& computation,
                                                  std::vector<ShadowValue> arguments) {
  return CallWith(computation,
                  [&](int64_t number) { return std::move(arguments[static_cast<size_t>(number)]); });
}

absl::StatusOr<ShadowValue> ShadowEvaluator::CallWith(const Computation& computation,
                                                      ArgumentOf argument_of) {
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

void ShadowEvaluator::ReportProgress(const Instruction& instruction) {
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

void ShadowEvaluator::EndStep(const Instruction& instruction) {
  if (shows_progress_ && loops_.empty())
    work_.End(instruction, depth_, [&] { return InstructionCost(instruction); });
}

const reference::Program& ShadowEvaluator::ProgramOf(const Computation& computation) {
  std::unique_ptr<reference::Program>& program = programs_[&computation];
  if (program == nullptr)
    program = std::make_unique<reference::Program>(reference::MakeProgram(computation, effects_));
  return *program;
}

absl::Status ShadowEvaluator::Locate(const absl::Status& status, const Instruction& instruction) {
  is_located_ = true;
  return reference::Located(status, instruction);
}

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
  log_.NoteExchange(instruction, exchanged.is_estimated);
  if (exchanged.is_estimated || std::any_of(operands.begin(), operands.end(), IsEstimated))
    MarkEstimated(exchanged.value);
  const std::vector<ShadowValue*> leaves = ShadowLeaves(exchanged.value);
  for (size_t k = 0; k < exchanged.leaves.size(); ++k) {
    if (!leaves[k]->is_float()) continue;
    RuleContext context{instruction,      wide,        nullptr, operands, leaves[k]->declared,
                        declared_caller_, wide_caller_};
    context.own_error = exchanged.leaves[k].own_error;
    context.ill_condition = exchanged.leaves[k].ill_condition;
    log_.NoteCondition(context);
    if (!leaves[k]->is_exact()) HLO_RETURN_IF_ERROR(PerturbTrials(context, signs_, *leaves[k]));
    HLO_RETURN_IF_ERROR(
        log_.NoteArray(context, *leaves[k], {exchanged.leaves[k].local, exchanged.leaves[k].local_low}));
  }
  if (hook_) HLO_RETURN_IF_ERROR(hook_({instruction, loops_, operands, exchanged.value}));
  DropExactWide(exchanged.value);
  return std::move(exchanged.value);
}

absl::StatusOr<ShadowValue> ShadowEvaluator::While(const Instruction& loop, ShadowValue state) {
  loops_.push_back({.instruction = &loop});
  const size_t number = loops_.size() - 1;
  bool is_estimated = false;
  while (true) {
    HLO_ASSIGN_OR_RETURN(const ShadowValue predicate, Call(*loop.Get<attr::condition>(), {state}));
    log_.NoteControl(loop, predicate);
    is_estimated = is_estimated || predicate.is_estimated || MayDiffer(predicate);
    if (!*reinterpret_cast<const bool*>(predicate.declared.data())) break;
    ++loops_[number].iteration;
    std::vector<ShadowValue> arguments;
    arguments.push_back(std::move(state));
    HLO_ASSIGN_OR_RETURN(state, Call(*loop.Get<attr::body>(), std::move(arguments)));
  }
  loops_.pop_back();
  if (is_estimated) MarkEstimated(state);
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
  log_.NoteControl(instruction, operands[0]);
  HLO_ASSIGN_OR_RETURN(ShadowValue result, Call(*branches[static_cast<size_t>(branch)],
                                                {std::move(operands[static_cast<size_t>(branch) + 1])}));
  if (operands[0].is_estimated || MayDiffer(operands[0])) MarkEstimated(result);
  return result;
}

}  // namespace hlo::debug
