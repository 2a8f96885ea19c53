#pragma once
// Arrays whose sizes are known only at run time (semantics 4.5). Their elements are stored in arrays of the
// bounds; instructions on them have the semantics of static arrays of the run-time sizes.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "reference/op.h"

namespace hlo::reference {

// True if the instruction computes with the elements of such an array instead of forwarding it.
bool NeedsActualSizes(const Instruction& instruction, absl::Span<const Literal> operands);

// Applies the instruction to arrays of the run-time sizes; its result is stored at the low end of arrays of
// the declared bounds.
absl::StatusOr<Literal> AtActualSizes(OpContext& context, ReferenceOp op);

// Returns a static array as the low end of an array of the declared bounds, with its sizes; the rest is zero.
absl::StatusOr<Literal> PaddedToBounds(const Literal& actual, const Shape& declared);

// Returns an error if a set-dimension-size or a call of SliceToDynamic states a size that the dimension
// cannot have.
absl::Status CheckRunTimeSize(const Instruction& instruction, int64_t dimension, int64_t size);

}  // namespace hlo::reference
