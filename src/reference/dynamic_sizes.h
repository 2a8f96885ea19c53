#pragma once
// Arrays whose sizes are known only at run time (semantics 4.5). Their elements lie in arrays of the bounds;
// an instruction on them means the same instruction on arrays of the actual sizes.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "reference/op.h"

namespace hlo::reference {

// Whether the instruction computes with the elements of such an array, rather than handing it on.
bool NeedsActualSizes(const Instruction& instruction, absl::Span<const Literal> operands);

// The instruction on the actual arrays; its result fills the low end of arrays of the declared bounds.
absl::StatusOr<Literal> AtActualSizes(OpContext& context, ReferenceOp op);

// A static array as the low end of one of the declared bounds, with its sizes beside it; zeros fill the rest.
absl::StatusOr<Literal> WithinBounds(const Literal& actual, const Shape& declared);

}  // namespace hlo::reference
