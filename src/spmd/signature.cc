#include "spmd/signature.h"

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "ir/device_groups.h"

namespace hlo::spmd {
namespace {

void AppendShape(const Literal& value, std::string* text) {
  if (value.shape().IsTuple()) {
    *text += '(';
    for (const Literal& element : value.elements()) {
      if (text->back() != '(') *text += ", ";
      AppendShape(element, text);
    }
    *text += ')';
    return;
  }
  *text += ToString(value.shape().WithoutLayouts());
  if (!value.has_dynamic_sizes()) return;
  *text += " of sizes";
  for (int64_t d = 0; d < value.rank(); ++d) *text += fmt::format(" {}", value.dynamic_size(d));
}

// Returns the instructions of a reducer in text order; operands are numbered.
std::string ReducerText(const Computation& reducer) {
  const auto is_parameter = [](const Instruction* i) { return i->opcode() == Opcode::kParameter; };
  std::string text;
  for (const Instruction* instruction : reducer.instructions()) {
    if (is_parameter(instruction)) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{}", Name(instruction->opcode()));
    text += '(';
    for (const Instruction* operand : instruction->operands()) {
      if (text.back() != '(') text += ", ";
      text += is_parameter(operand)
                  ? fmt::format("{} {}", ToString(operand->shape()), operand->Get<attr::number>())
                  : fmt::format("%{}", operand->index());
    }
    text += ')';
  }
  return text;
}

}  // namespace

std::string SignatureOf(const Instruction& collective, const Values& operands) {
  std::string text = fmt::format("{}(", Name(collective.opcode()));
  for (const Literal& operand : operands) {
    if (text.back() != '(') text += ", ";
    AppendShape(operand, &text);
  }
  text += ')';
  if (const IntList dimensions = collective.Get<attr::dimensions>(); !dimensions.empty())
    text += fmt::format(" along {}", absl::StrJoin(dimensions, ","));
  // Different conversions join values in different ways, so they are never paired.
  if (IsShapeConversion(collective)) text += fmt::format(" '{}'", collective.name());
  if (const Computation* reducer = collective.Get<attr::to_apply>()) text += " by " + ReducerText(*reducer);
  return text;
}

bool ArePairable(const Instruction& sender, const Instruction& receiver) {
  return sender.opcode() == receiver.opcode() && HasChannel(sender) == HasChannel(receiver) &&
         Compatible(sender.shape(), receiver.shape());
}

}  // namespace hlo::spmd
