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
  if (read->scale.has_value()) right_sides = b.Wide(*read->scale) * right_sides;
  const TriangleOptions& options = read->triangle;
  return b.Finish(
      {b.Named(build::TriangularSolve(b.Wide(read->array), right_sides, options.left, options.lower,
                                      options.unit_diagonal, TransposeAOf(options.op)))});
}

// Without a scale, the call has a kernel.
Expansion ScaledTriangularSolve(const Instruction& call) {
  const std::optional<reference::custom::MatrixCall> read = reference::custom::MatrixCallOf(call);
  return read.has_value() && read->scale.has_value() ? TriangularSolve(call) : std::nullopt;
}

namespace {

// Rotates row k of a triangular factor and a vector so that element k of the vector becomes zero.
struct RowRotation {
  Op row, vector;
};
RowRotation Rotated(Op row, Op vector, Op k) {
  const int64_t n = vector.dims()[0];
  const Op zero = build::FullLike(row, 0), one = build::FullLike(row, 1);
  const Op r = build::DynamicSlice(row, {k}, {1}), w = build::DynamicSlice(vector, {k}, {1});
  const Op scale = build::Max(build::Abs(r), build::Abs(w));
  const Op norm = scale * build::Sqrt((r / scale) * (r / scale) + (w / scale) * (w / scale));
  const Op c = build::BroadcastInDim(build::Reshape(r / norm, {}), {n}, {}),
           s = build::BroadcastInDim(build::Reshape(w / norm, {}), {n}, {});
  const Op column = row.builder()->Iota(ElementType::kS32, n);
  const Op is_zero =
      build::BroadcastInDim(build::Reshape(build::Eq(scale, build::FullLike(scale, 0)), {}), {n}, {});
  const Op is_kept = build::Lt(column, k) | is_zero;
  const Op cosine = build::Select(is_kept, one, c), sine = build::Select(is_kept, zero, s);
  return {cosine * row + sine * vector, cosine * vector - sine * row};
}

}  // namespace

// The factor of R^T R + w w^T: a loop over the rows of R.
Expansion CholeskyUpdate(const Instruction& call) {
  CallBuilder b(call);
  const int64_t n = b.shape_of(1).dim(0);
  if (n == 0) return std::nullopt;
  build::Builder& builder = b.builder();
  const auto number = [&](int64_t value) {
    return builder.Constant(ElementType::kS32, static_cast<double>(value));
  };
  const Op start = builder.Tuple({number(0), b.Wide(0), b.Wide(1)});
  const build::Function condition =
      builder.Define("rows_remain", {start.shape()}, [&](const std::vector<Op>& state) {
        return build::Lt(build::GetTupleElement(state[0], 0), number(n));
      });
  const build::Function body =
      builder.Define("rotate_row", {start.shape()}, [&](const std::vector<Op>& state) {
        const std::vector<Op> parts = build::Elements(state[0]);
        const Op k = parts[0], factor = parts[1];
        const Op row = build::Reshape(build::DynamicSlice(factor, {k, number(0)}, {1, n}), {n});
        const RowRotation rotated = Rotated(row, parts[2], k);
        return builder.Tuple(
            {k + number(1),
             build::DynamicUpdateSlice(factor, build::Reshape(rotated.row, {1, n}), {k, number(0)}),
             rotated.vector});
      });
  const std::vector<Op> end = build::Elements(build::While(condition, body, start));
  if (end.size() != 3) return std::nullopt;
  return b.Finish({end[1], end[2]});
}

}  // namespace hlo::plan::calls
