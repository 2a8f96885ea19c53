// Parses asynchronous instructions and their sugar X-start, X-update and X-done (text-format 5.4).

#include "absl/algorithm/container.h"
#include "ir/async.h"
#include "text/parser.h"

namespace hlo::text {
namespace {

// Returns the operand that forwards the element of `value` at `path`, whose next index is last; nullptr if
// none does.
Instruction* Before(Instruction* value, std::vector<int64_t>* path) {
  switch (value->opcode()) {
    case Opcode::kGetTupleElement:
      path->push_back(value->Get<attr::index>());
      return value->operand(0);
    case Opcode::kTuple: {
      if (path->empty() || path->back() < 0 || path->back() >= value->operand_count()) return nullptr;
      const int64_t element = path->back();
      path->pop_back();
      return value->operand(element);
    }
    default:
      return ForwardsAsync(*value) ? value->operand(0) : nullptr;
  }
}

// True for attributes that both the asynchronous and the wrapped instruction have.
bool IsShared(AttrId id) {
  return id == AttrId::metadata || id == AttrId::backend_config || id == AttrId::frontend_attributes ||
         id == AttrId::statistics || id == AttrId::origin;
}

// True for a result that is not bound yet.
bool IsEmptyTuple(const Shape& shape) { return shape.IsTuple() && shape.elements().empty(); }

}  // namespace

// Returns the async-start that produces a value; nullptr if the text does not show it or the step limit is
// reached.
Instruction* Parser::FindStart(Instruction* value) {
  std::vector<int64_t> path;  // The remaining tuple indices, the next one last.
  std::vector<const Instruction*> walked;
  Instruction* start = nullptr;
  while (value != nullptr && --async_steps_left_ > 0) {
    if (path.empty()) {
      const auto known = async_starts_.find(value);
      if (known != async_starts_.end()) {
        start = known->second;
        break;
      }
      walked.push_back(value);
    }
    if (value->opcode() == Opcode::kAsyncStart) {
      start = value;
      break;
    }
    value = Before(value, &path);
  }
  for (const Instruction* at : walked) async_starts_.emplace(at, start);
  return start;
}

AttrId Parser::FindAttributeOf(const OpcodeWord& op, std::string_view spelling) const {
  if (!op.is_sugar) return FindAttribute(op.opcode, spelling);
  if (op.opcode == Opcode::kAsyncStart) {
    const AttrId id = FindAttribute(op.wrapped, spelling);
    if (id != AttrId::kNone) return id;
  }
  return spelling == "calls" ? AttrId::kNone : FindAttribute(op.opcode, spelling);
}

bool Parser::FinishAsync(Scope& scope, InstructionParts& parts) {
  has_async_ = true;
  if (const AttrEntry* entry = FindEntry(parts, AttrId::parameter_replication)) {
    return Error(entry->range, "only a parameter has parameter_replication");
  }
  if (parts.op.opcode == Opcode::kAsyncStart) return FinishAsyncStart(scope, parts);
  return FinishAsyncContinuation(parts);
}

// Checks for the shape `((operands...), result, ...)`.
bool Parser::CheckAsyncShape(InstructionParts& parts) {
  if (!parts.shape.IsValid()) {
    return Error(parts.op.range, "an asynchronous instruction needs its result shape before the opcode");
  }
  if (parts.shape.IsTuple() && parts.shape.elements().size() >= 2 && parts.shape.element(0).IsTuple())
    return true;
  return Error(parts.shape_range,
               "an asynchronous start or update gives ((operands...), result, ...), not {}",
               ToString(parts.shape));
}

bool Parser::FinishAsyncStart(Scope& scope, InstructionParts& parts) {
  if (!CheckAsyncShape(parts)) return false;
  if (!parts.op.is_sugar) return CheckRequiredAttributes(parts);
  const Opcode wrapped = parts.op.wrapped;
  if (Info(wrapped).has(kAsync) || wrapped == Opcode::kParameter || wrapped == Opcode::kConstant) {
    return Error(parts.op.range, "'{}' cannot run asynchronously", Name(wrapped));
  }
  Computation* wrapper = MakeAsyncWrapper(parts);
  if (wrapper == nullptr) return false;
  // Removes the attributes that only the wrapped instruction has.
  std::vector<AttrEntry> kept;
  for (const AttrEntry& entry : Attributes(parts)) {
    const std::string_view spelling = Info(entry.id).spelling;
    if (FindAttribute(Opcode::kAsyncStart, spelling) == entry.id && spelling != "calls")
      kept.push_back(entry);
  }
  kept.push_back({AttrId::calls, parts.op.range, AttrValue::Of(wrapper)});
  attributes_.resize(parts.first_attribute);
  attributes_.insert(attributes_.end(), kept.begin(), kept.end());
  (void)scope;
  return true;
}

// Creates the computation that a sugared start calls: parameters and, as its root, X of them.
Computation* Parser::MakeAsyncWrapper(InstructionParts& parts) {
  Computation* wrapper = module_->NewComputation("async_wrapped");
  InstructionEditor::SetAsyncWrapper(*wrapper, true);
  InstructionEditor::SetNested(*wrapper, true);
  InstructionEditor::SetNameRange(*wrapper, parts.op.range);
  if (HasEntry(parts, AttrId::async_execution_thread)) {
    InstructionEditor::SetExecutionThread(*wrapper, GetEntry<attr::async_execution_thread>(parts));
  }
  Scope& scope = PushScope(wrapper);
  const Shape& operand_shapes = parts.shape.element(0);
  for (size_t i = 0; i < operand_shapes.elements().size(); ++i) {
    const std::string_view name = i == 0 ? "async_param" : Keep(fmt::format("async_param.{}", i));
    NewParameter(scope, operand_shapes.element(i), name, parts.op.range);
  }
  InstructionParts inner;
  inner.op.opcode = parts.op.wrapped;
  inner.op.range = parts.op.range;
  inner.name = Name(parts.op.wrapped);
  inner.name_range = parts.name_range;
  inner.shape = parts.shape.element(1);
  inner.shape_range = parts.shape_range;
  inner.elided = parts.elided;
  inner.first_operand = operands_.size();
  for (Instruction* parameter : scope.parameters) PushOperand(parameter, parts.op.range, inner);
  const std::vector<AttrEntry> all(attributes_.begin() + parts.first_attribute, attributes_.end());
  inner.first_attribute = attributes_.size();
  for (const AttrEntry& entry : all) {
    const bool own = absl::c_any_of(Info(parts.op.wrapped).attributes,
                                    [&](const AttrUse& use) { return use.id == entry.id; });
    if ((own && entry.id != AttrId::output_to_operand_aliasing) || IsShared(entry.id))
      attributes_.push_back(entry);
  }
  // Does not check the operand count, because operands may be bound later, nor replaced shapes.
  const bool complete = CheckRequiredAttributes(inner) && FinishWrapped(inner);
  Instruction* root = complete ? Create(scope, inner) : nullptr;
  Drop(inner);
  if (root != nullptr) {
    InstructionEditor::SetRoot(*wrapper, root);
    for (Instruction* parameter : scope.parameters) {
      InstructionEditor::SetParameter(*wrapper, parameter->Get<attr::number>(), parameter);
    }
  }
  PopScope();
  if (root == nullptr) return nullptr;
  parts.elided = false;
  module_->AddComputation(wrapper);
  return wrapper;
}

// Applies the finisher of the wrapped opcode if its operands are known.
bool Parser::FinishWrapped(InstructionParts& parts) {
  const OpcodeInfo& info = Info(parts.op.opcode);
  const auto count = static_cast<int64_t>(Operands(parts).size());
  if (count < info.min_operands || count > info.max_operands || parts.op.opcode == Opcode::kTuple)
    return true;
  const Finisher finish = FinisherOf(parts.op.opcode);
  return finish == nullptr || (this->*finish)(parts);
}

bool Parser::FinishAsyncContinuation(InstructionParts& parts) {
  const bool is_update = parts.op.opcode == Opcode::kAsyncUpdate;
  if (is_update && !CheckAsyncShape(parts)) return false;
  if (!parts.shape.IsValid())
    return Error(parts.op.range, "an asynchronous instruction needs its result shape before the opcode");
  if (!CheckOperandCount(parts)) return false;
  if (Operands(parts)[0]->opcode() == Opcode::kAsyncDone) {
    return Error(operand_ranges_[parts.first_operand], "'{}' is done already", Operands(parts)[0]->name());
  }
  Instruction* start = FindStart(Operands(parts)[0]);
  if (start == nullptr) return true;
  Computation* called = start->Get<attr::calls>();
  if (called == nullptr || called->root() == nullptr) return true;  // The error has been reported there.
  if (parts.op.is_sugar && called->root()->opcode() != parts.op.wrapped) {
    diagnostics_
        .Error(parts.op.range, "this continues '{}', which runs '{}'", start->name(),
               Name(called->root()->opcode()))
        .Note(start->opcode_range(), "'{}' is here", start->name());
    return false;
  }
  AttrEntry* calls = FindEntry(parts, AttrId::calls);
  if (calls != nullptr && calls->value.As<Computation*>() != called) {
    if (!SameSignature(*calls->value.As<Computation*>(), *called))
      return Error(calls->range, "this continues '{}', which calls '{}'", start->name(), called->name());
    // Older versions of XLA accept any computation here and run that of the start.
    if (!Tolerate(calls->range, "this continues '{}', which calls '{}': that one runs", start->name(),
                  called->name()))
      return false;
    calls->value = AttrValue::Of(called);
  }
  const AttrEntry* thread = FindEntry(parts, AttrId::async_execution_thread);
  const std::string_view expected = start->Get<attr::async_execution_thread>("main");
  if (thread != nullptr && thread->value.As<std::string_view>() != expected) {
    return Error(thread->range, "this continues '{}', which runs on thread \"{}\"", start->name(), expected);
  }
  BindLate(parts, start);
  return true;
}

// Binds operands of an update that the start did not have: adds parameters to the wrapper.
void Parser::BindLate(InstructionParts& parts, Instruction* start) {
  Computation* wrapper = start->Get<attr::calls>();
  if (!wrapper->is_async_wrapper()) return;
  Instruction* root = wrapper->root();
  const auto operands = Operands(parts);
  if (parts.op.opcode == Opcode::kAsyncDone) {
    if (start->operand_count() < root->operand_count() || IsEmptyTuple(root->shape())) {
      InstructionEditor::SetShape(*root, parts.shape);
    }
    return;
  }
  if (IsEmptyTuple(root->shape())) InstructionEditor::SetShape(*root, parts.shape.element(1));
  if (operands.size() < 2) return;
  std::vector<Instruction*> all(root->operands().begin(), root->operands().end());
  std::vector<Instruction*> list(wrapper->instructions().begin(), wrapper->instructions().end() - 1);
  Scope& scope = PushScope(wrapper);
  scope.parameters.assign(wrapper->parameters().begin(), wrapper->parameters().end());
  for (Instruction* operand : operands.subspan(1)) {
    const auto number = static_cast<int64_t>(scope.parameters.size());
    const std::string_view name = number == 0 ? "async_param" : Keep(fmt::format("async_param.{}", number));
    Instruction* parameter = NewParameter(scope, operand->shape(), name, parts.op.range);
    InstructionEditor::SetParameter(*wrapper, number, parameter);
    all.push_back(parameter);
    list.push_back(parameter);
  }
  PopScope();
  list.push_back(root);
  InstructionEditor::SetInstructions(*wrapper, std::move(list));
  InstructionEditor::SetOperands(*module_, *root, all);
  InstructionEditor::SetShape(*root, parts.shape.element(1));
}

}  // namespace hlo::text
