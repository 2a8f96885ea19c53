#pragma once
// Evaluates custom calls that are equivalent to an instruction, with the instruction's checks and reference
// function.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "reference/op.h"

namespace hlo::reference::custom {

// Attribute values are views.
template <class A>
AttrEntry Attribute(typename A::Type value) {
  return {A::kId, {}, AttrValue::Of(value)};
}

struct InstructionForm {
  Opcode opcode;
  std::vector<AttrEntry> attributes;
  Shape shape;
};

// Returns why an instruction of this form cannot have these operands and result; "" if it can.
std::string FormMismatch(const InstructionForm& form, absl::Span<const Shape> operands);

// Returns the instruction's value; FailedPrecondition if it does not fit.
absl::StatusOr<Literal> RunForm(OpContext& context, const InstructionForm& form,
                                std::vector<Literal> operands);

}  // namespace hlo::reference::custom
