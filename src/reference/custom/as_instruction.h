#pragma once
// Custom calls that mean what an instruction means: checked as that instruction is, and evaluated by its
// function.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "reference/op.h"

namespace hlo::reference::custom {

// Values of attributes are viewed, not copied.
template <class A>
AttrEntry Attribute(typename A::Type value) {
  return {A::kId, {}, AttrValue::Of(value)};
}

struct InstructionForm {
  Opcode opcode;
  std::vector<AttrEntry> attributes;
  Shape shape;
};

// Why an instruction of this form cannot take such operands and give its shape; "" if it can.
std::string FormMisfit(const InstructionForm& form, absl::Span<const Shape> operands);

// Its value; FailedPrecondition where it does not fit.
absl::StatusOr<Literal> RunForm(OpContext& context, const InstructionForm& form,
                                std::vector<Literal> operands);

}  // namespace hlo::reference::custom
