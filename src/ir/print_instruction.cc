// Prints instructions: name, shape, opcode, operands and attributes in their order (text-format 9.6).

#include <algorithm>

#include "absl/strings/match.h"
#include "base/append.h"
#include "ir/printer.h"

namespace hlo {
namespace {

// True for opcodes X whose X-done is an opcode of its own or has no sugared form.
bool HasNoSugar(Opcode opcode) {
  const std::string_view name = Name(opcode);
  return opcode == Opcode::kParameter || opcode == Opcode::kConstant || name.ends_with("-start") ||
         name.ends_with("-update") || name.ends_with("-done") ||
         ParseOpcode(std::string(name) + "-done").has_value();
}

// True if the wrapper consists of its parameters, in order, and the wrapped instruction.
bool IsPlainWrapper(const Computation& wrapper) {
  const Instruction& root = *wrapper.root();
  return wrapper.instructions().size() == wrapper.parameters().size() + 1 &&
         absl::MakeConstSpan(root.operands()) == wrapper.parameters();
}

// True if the reader would infer the wrapper's shapes from the start.
bool DeclaresItsWrapper(const Instruction& start, const Computation& wrapper) {
  const Shape& shape = start.shape();
  if (!shape.IsTuple() || shape.elements().size() < 2 || !shape.element(0).IsTuple()) return false;
  if (start.Get<attr::async_execution_thread>("main") != wrapper.execution_thread()) return false;
  // Late binding: updates append the other operands.
  if (start.operand_count() < static_cast<int64_t>(wrapper.parameters().size())) return true;
  absl::Span<const Shape> inputs = shape.element(0).elements();
  return shape.element(1) == wrapper.root()->shape() &&
         std::equal(
             inputs.begin(), inputs.end(), wrapper.parameters().begin(), wrapper.parameters().end(),
             [](const Shape& input, const Instruction* parameter) { return input == parameter->shape(); });
}

}  // namespace

bool Printer::CanBeSugar(const Instruction& start, const Instruction& wrapped) {
  const Computation& wrapper = *wrapped.parent();
  if (style_.as_xla) {
    const int64_t others = std::count_if(
        wrapper.instructions().begin(), wrapper.instructions().end(),
        [&](const Instruction* i) { return i->opcode() != Opcode::kParameter && i != wrapper.root(); });
    return others == 0;
  }
  if (style_.bodies || HasNoSugar(wrapped.opcode()) || !IsPlainWrapper(wrapper)) return false;
  if (!DeclaresItsWrapper(start, wrapper)) return false;
  const bool late = start.operand_count() < wrapped.operand_count();
  if (late && module_.header().is_scheduled) return false;
  // The sugared text cannot attribute these to one of the two instructions.
  if (wrapped.Has<attr::sharding>() || wrapped.Has<attr::control_predecessors>()) return false;
  if (start.Has<attr::output_to_operand_aliasing>() && wrapped.Has<attr::output_to_operand_aliasing>())
    return false;
  const auto* outer = start.Get<attr::statistics>();
  const auto* inner = wrapped.Get<attr::statistics>();
  if (outer == nullptr || inner == nullptr) return true;
  return outer->visualizing_index == inner->visualizing_index &&
         std::equal(
             outer->entries.begin(), outer->entries.end(), inner->entries.begin(), inner->entries.end(),
             [](const Statistic& a, const Statistic& b) { return a.name == b.name && a.value == b.value; });
}

const Instruction* Printer::SugarOf(const Instruction& async) {
  const Instruction* start = async.opcode() == Opcode::kAsyncStart ? &async : chains_.FindStart(async);
  if (start == nullptr) return nullptr;
  const Instruction* wrapped = WrappedInstruction(*start);
  return wrapped != nullptr && CanBeSugar(*start, *wrapped) ? wrapped : nullptr;
}

void Printer::PutName(const Instruction& instruction) {
  if (style_.bodies) {
    Put("tmp_");
    PutInt(numbers_[instruction.index()]);
    return;
  }
  PutName(instruction.name());
}

void Printer::PutName(std::string_view name) {
  if (style_.percent || (!style_.as_xla && IsReserved(name))) Put('%');
  Put(name);
}

void Printer::PutConstant(const Instruction& instruction) {
  const Literal* literal = instruction.Get<attr::literal>();
  if (instruction.is_elided() || literal == nullptr) {
    Put("{...}");
    return;
  }
  const bool array = literal->shape().IsArray();
  const bool small = array && literal->element_count() <= 10;
  const LiteralPrintOptions options{.as_xla = style_.as_xla};
  if (style_.constants == PrintStyle::Constants::kFingerprint)
    PutFingerprint(*literal);
  else if (small || style_.constants == PrintStyle::Constants::kAll)
    AppendLiteral(*literal, options, &out_);
  else
    Put("{...}");
}

void Printer::PutFingerprint(const Literal& literal) {
  const LiteralPrintOptions options{.as_xla = true};
  if (!literal.shape().IsArray()) {
    Put("{...}");
    return;
  }
  constexpr int64_t kMaxElements = 500000;
  const auto all_are = [&](std::initializer_list<std::string_view> texts) {
    std::string text;
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      text.clear();
      AppendElement(literal, i, true, options, &text);
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) return false;
    }
    return true;
  };
  if (all_are({"0", "-0", "(0, 0)"}))
    Put('0');
  else if (all_are({"1", "(1, 0)"}))
    Put('1');
  else if (IsIntegral(literal.type()) && literal.element_count() <= kMaxElements)
    AppendLiteral(literal, options, &out_);
  else
    Put("{...}");
}

void Printer::PutOperands(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kParameter) {
    PutInt(instruction.Get<attr::number>());
    return;
  }
  if (instruction.opcode() == Opcode::kConstant) {
    PutConstant(instruction);
    return;
  }
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    if (i > 0) Put(", ");
    if (i > 0 && i % 5 == 0 && style_.index_comments) Append(&out_, "/*index={}*/", i);
    const Instruction& operand = *instruction.operand(i);
    if (style_.operand_shapes) PutShape(operand.shape());
    if (nameless_) continue;
    if (style_.operand_shapes) Put(' ');
    PutName(operand);
  }
}

void Printer::PutControlPredecessors(const Instruction& instruction) {
  if (!style_.control_predecessors) return;
  const auto predecessors = instruction.Get<attr::control_predecessors>();
  if (predecessors.empty()) return;
  Put(", control-predecessors={");
  PutList(predecessors, ", ", [&](const Instruction* i) { PutName(*i); });
  Put('}');
}

void Printer::PutAttribute(AttrId id, AttrValue value) {
  Put(", ");
  Put(Info(id).spelling);
  Put('=');
  PutValue(id, value);
}

void Printer::PutStored(const Instruction& instruction, AttrId id) {
  const AttrEntry* entry = instruction.Find(id);
  if (entry != nullptr && !IsEmpty(id, entry->value)) PutAttribute(id, entry->value);
}

void Printer::PutCommonAttributes(const Instruction& instruction) {
  PutStored(instruction, AttrId::sharding);
  PutStored(instruction, AttrId::frontend_attributes);
  PutControlPredecessors(instruction);
  PutStored(instruction, AttrId::statistics);
  PutStored(instruction, AttrId::result_accuracy);
}

void Printer::PutTrailingAttributes(const Instruction& instruction) {
  PutStored(instruction, AttrId::origin);
  if (style_.metadata) PutStored(instruction, AttrId::metadata);
  if (style_.backend_config) PutStored(instruction, AttrId::backend_config);
}

void Printer::PutAsyncStart(const Instruction& start, const Instruction* wrapped) {
  if (start.Get<attr::async_execution_thread>("main") != "main")
    PutStored(start, AttrId::async_execution_thread);
  if (wrapped != nullptr) {
    PutOwnAttributes(*wrapped);
    PutStored(*wrapped, AttrId::sharding);
    if (!start.Has<attr::frontend_attributes>()) PutStored(*wrapped, AttrId::frontend_attributes);
    PutControlPredecessors(*wrapped);
    // XLA prints the statistics of both instructions, which its reader rejects. If both have statistics they
    // are equal.
    if (style_.as_xla || !start.Has<attr::statistics>()) PutStored(*wrapped, AttrId::statistics);
    PutStored(*wrapped, AttrId::result_accuracy);
  }
  PutStored(start, AttrId::output_to_operand_aliasing);
  if (wrapped == nullptr || style_.bodies) PutStored(start, AttrId::calls);
}

void Printer::PrintInstruction(const Instruction& instruction) {
  nameless_ = style_.bodies;
  PutStatement(instruction);
}

void Printer::PutStatement(const Instruction& instruction) {
  if (!nameless_) {
    PutName(instruction);
    Put(" = ");
  }
  PutShape(instruction.shape());
  Put(' ');
  const Opcode opcode = instruction.opcode();
  const Instruction* wrapped = Info(opcode).has(kAsync) ? SugarOf(instruction) : nullptr;
  if (wrapped != nullptr) {
    Put(Name(wrapped->opcode()));
    Put(Name(opcode).substr(std::string_view("async").size()));
  } else {
    Put(Name(opcode));
  }
  Put('(');
  PutOperands(instruction);
  Put(')');
  nameless_ = false;  // Nested bodies have names.
  if (opcode == Opcode::kAsyncStart)
    PutAsyncStart(instruction, wrapped);
  else
    PutOwnAttributes(instruction);
  PutCommonAttributes(instruction);
  PutTrailingAttributes(instruction);
}

}  // namespace hlo
