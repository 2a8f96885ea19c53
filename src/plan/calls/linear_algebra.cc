// Replacements of calls that solve triangular systems.

#include "ir/triangle_options.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "reference/custom/matrix_calls.h"

namespace hlo::plan::calls {

// It computes in f64 or c128, because a scaled right side would be rounded twice.
Expansion TriangularSolve(const Instruction& call) {
  const std::optional<reference::custom::MatrixCall> read = reference::custom::MatrixCallOf(call);
  if (!read.has_value()) return std::nullopt;
  CallBuilder b(call);
  const bool is_complex = IsComplex(b.results()[0].type());
  b.set_type(is_complex ? ElementType::kC128 : ElementType::kF64);
  Op right_sides = b.Wide(read->array + 1);
  if (read->is_scaled) right_sides = b.Wide(read->array - 1) * right_sides;
  const TriangleOptions& options = read->triangle;
  return b.Finish(
      {b.Named(build::TriangularSolve(b.Wide(read->array), right_sides, options.left, options.lower,
                                      options.unit_diagonal, TransposeAOf(options.op)))});
}

}  // namespace hlo::plan::calls
