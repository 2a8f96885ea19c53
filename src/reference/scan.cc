// Scan (semantics 5.7).

#include <utility>

#include "base/status.h"
#include "reference/arrays.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

// Returns the slice at position t of a dimension, without that dimension.
View SliceAt(const Literal& array, int64_t dimension, int64_t t) {
  const View dense = View::Dense(array.dims());
  const Index kept = OtherDims(array.rank(), {dimension});
  return {Pick(dense.dims, kept), Pick(dense.strides, kept), t * dense.strides[dimension]};
}

}  // namespace

// (y..., carry...) = to_apply(x[t]..., carry...) for t = 0, 1, ..., or in reverse; the ys are stacked along
// the dimension.
absl::StatusOr<Literal> Scan(OpContext& context) {
  const Computation& to_apply = *context.instruction.Get<attr::to_apply>();
  const int64_t dimension = context.instruction.Get<attr::dimensions>()[0];
  const int64_t carry_count = context.instruction.Get<attr::num_carries>();
  const auto input_count = static_cast<int64_t>(context.operands.size()) - carry_count;
  const bool lone = !context.shape().IsTuple();
  const absl::Span<const Shape> shapes =
      lone ? absl::MakeConstSpan(&context.shape(), 1) : context.shape().elements();
  const auto output_count = static_cast<int64_t>(shapes.size()) - carry_count;

  std::vector<Literal> carries(std::make_move_iterator(context.operands.begin() + input_count),
                               std::make_move_iterator(context.operands.end()));
  std::vector<Literal> results;
  for (const Shape& shape : shapes.first(output_count)) {
    HLO_ASSIGN_OR_RETURN(Literal stacked, Literal::CreateZeros(shape));
    results.push_back(std::move(stacked));
  }
  const int64_t length = input_count > 0    ? context.operands[0].dim(dimension)
                         : output_count > 0 ? results[0].dim(dimension)
                                            : 0;
  for (int64_t step = 0; step < length; ++step) {
    const int64_t t = context.instruction.Get<attr::is_reverse>() ? length - 1 - step : step;
    std::vector<Literal> arguments;
    for (int64_t i = 0; i < input_count; ++i) {
      HLO_ASSIGN_OR_RETURN(Literal slice,
                           Copied(context.operands[i], SliceAt(context.operands[i], dimension, t),
                                  to_apply.parameter(i)->shape()));
      arguments.push_back(std::move(slice));
    }
    for (Literal& carry : carries) arguments.push_back(std::move(carry));
    HLO_ASSIGN_OR_RETURN(Literal values, context.caller.Call(to_apply, absl::MakeSpan(arguments)));
    std::vector<Literal> parts;
    if (values.shape().IsTuple())
      parts = std::move(values.mutable_elements());
    else
      parts.push_back(std::move(values));
    for (int64_t i = 0; i < output_count; ++i) {
      CopyElements(ByteCount(parts[i].type()), parts[i].data(), View::Dense(parts[i].dims()),
                   results[i].mutable_data(), SliceAt(results[i], dimension, t));
    }
    for (int64_t i = 0; i < carry_count; ++i) carries[i] = std::move(parts[output_count + i]);
  }
  for (Literal& carry : carries) results.push_back(std::move(carry));
  return lone ? std::move(results[0]) : Literal::Tuple(std::move(results));
}

}  // namespace hlo::reference
