#pragma once
// Iteration over the results of an instruction.

#include "absl/types/span.h"
#include "hlo_run/module.h"

namespace hlo {

// Returns the elements of a tuple result, or the single result.
inline absl::Span<const Shape> ResultShapes(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  return shape.IsTuple() ? shape.elements() : absl::MakeConstSpan(&shape, 1);
}

}  // namespace hlo
