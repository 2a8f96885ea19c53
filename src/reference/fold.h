#pragma once
// Reductions over the members of a group (spmd 3.1).

#include "absl/types/span.h"
#include "reference/op.h"

namespace hlo::reference {

// Returns acc = x0, acc = to_apply(acc, x1), ... for each element of arrays of one shape, rounded at each
// step. A to_apply that is one operation on its parameters is applied in the arrays' type, if that differs
// from its own; other computations convert.
absl::StatusOr<Literal> FoldMembers(OpContext& context, absl::Span<const Literal* const> members);

}  // namespace hlo::reference
