#pragma once
// One instruction as the reference evaluates it, whoever asks.

#include "absl/status/statusor.h"
#include "reference/op.h"

namespace hlo::reference {

// Returns the instruction's value, of its declared element types: dynamic sizes are taken into account, and
// mixed precision is converted (ir/element_types.h). Internal: the opcode's function gave another type.
absl::StatusOr<Literal> Apply(OpContext& context, ReferenceOp op);

}  // namespace hlo::reference
