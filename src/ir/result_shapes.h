#pragma once
// The results of an instruction one by one.

#include "absl/types/span.h"
#include "hlo_run/module.h"

namespace hlo {

// The elements of its tuple, or its only value.
inline absl::Span<const Shape> ResultShapes(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  return shape.IsTuple() ? shape.elements() : absl::MakeConstSpan(&shape, 1);
}

}  // namespace hlo
