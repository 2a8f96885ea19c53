#include "reference/apply.h"

#include "base/status.h"
#include "fmt/format.h"
#include "ir/element_types.h"
#include "reference/arrays.h"
#include "reference/dynamic_sizes.h"

namespace hlo::reference {
namespace {

absl::StatusOr<Literal> Converted(const Literal& array, ElementType type) {
  HLO_ASSIGN_OR_RETURN(Literal result, WithType(array, type));
  for (int64_t d = 0; array.has_dynamic_sizes() && d < array.rank(); ++d)
    result.set_dynamic_size(d, array.dynamic_size(d));
  return result;
}

absl::Status ConvertMovedOperands(OpContext& context) {
  for (size_t k = 0; k < context.operands.size(); ++k) {
    Literal& operand = context.operands[k];
    if (!operand.shape().IsArray()) continue;
    const ElementType type = TypeToMove(context.instruction, static_cast<int64_t>(k));
    if (type == operand.type()) continue;
    HLO_ASSIGN_OR_RETURN(operand, Converted(operand, type));
  }
  return absl::OkStatus();
}

// Converts floats that differ from the declared type; any other difference is a bug in the opcode's function.
absl::Status ConvertResult(const Shape& declared, Literal& result) {
  if (declared.IsTuple()) {
    // The value of an asynchronous start may still be incomplete.
    if (!result.shape().IsTuple() || result.elements().size() != declared.elements().size())
      return absl::OkStatus();
    for (size_t k = 0; k < declared.elements().size(); ++k)
      HLO_RETURN_IF_ERROR(ConvertResult(declared.element(k), result.mutable_elements()[k]));
    return absl::OkStatus();
  }
  if (!declared.IsArray() || !result.shape().IsArray() || result.type() == declared.type()) [[likely]]
    return absl::OkStatus();
  if (!IsFloat(result.type()) || !IsFloat(declared.type()))
    return absl::InternalError(fmt::format("the value is {}", ToString(result.shape())));
  HLO_ASSIGN_OR_RETURN(result, Converted(result, declared.type()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Literal> Apply(OpContext& context, ReferenceOp op) {
  if (MixesTypes(context.instruction)) HLO_RETURN_IF_ERROR(ConvertMovedOperands(context));
  absl::StatusOr<Literal> result =
      NeedsActualSizes(context.instruction, context.operands) ? AtActualSizes(context, op) : op(context);
  if (result.ok()) HLO_RETURN_IF_ERROR(ConvertResult(context.shape(), *result));
  return result;
}

}  // namespace hlo::reference
