#pragma once
// Evaluates a single instruction with its reference function.

#include "absl/status/statusor.h"
#include "reference/op.h"

namespace hlo::reference {

// Returns the instruction's value in its declared element types, with dynamic sizes and mixed precision
// handled (ir/element_types.h). Returns Internal if the opcode's function gave another type.
absl::StatusOr<Literal> Apply(OpContext& context, ReferenceOp op);

}  // namespace hlo::reference
