// dot, ragged-dot and scaled-dot (semantics 6.1 to 6.3).

#include <algorithm>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "reference/contraction.h"
#include "reference/dot_algorithm.h"
#include "reference/op.h"
#include "reference/ragged_rows.h"
#include "types/promotion.h"

namespace hlo::reference {
namespace {

// Returns an operand of a scaled-dot times its scale: result[i] = x[i] * scale[i / block], block[d] = dim(x,
// d) / dim(scale, d). A scalar scale means no scaling.
absl::StatusOr<Literal> Scaled(const Literal& x, const Literal& scale) {
  if (scale.rank() != x.rank()) return x;
  Index block;
  for (int64_t d = 0; d < x.rank(); ++d)
    block.push_back(std::max<int64_t>(1, x.dim(d) / std::max<int64_t>(1, scale.dim(d))));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(x.shape()));
  const Index strides = RowMajorStrides(scale.dims());
  DispatchWide(x.type(), [&]<class W>() {
    int64_t place = 0;
    for (Index i : EachIndex(x.dims())) {
      for (int64_t d = 0; d < i.rank(); ++d) i[d] /= block[d];
      W* out = &result.mutable_span<W>()[place];
      *out = W{};
      AddScaled(x.span<W>()[place], &scale.span<W>()[Offset(i, strides)], 1, out);
      ++place;
    }
  });
  return result;
}

}  // namespace

// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]; emulates `algorithm` if the run's options
// request it.
absl::StatusOr<Literal> Dot(OpContext& context) {
  const ElementType lhs_type = context.operands[0].type(), rhs_type = context.operands[1].type();
  const ElementType product = ProductType(lhs_type, rhs_type, context.shape().type());
  const ElementType type = ContractionType(product);
  const auto sum = [&](const Literal& lhs, const Literal& rhs) {
    return DotSum(lhs, LhsDims(context.instruction), rhs, RhsDims(context.instruction), type);
  };
  const PrecisionAlgorithm algorithm = context.instruction.Get<attr::dot_algorithm>();
  const bool emulates = context.caller.emulates_dot_algorithms() && algorithm != PrecisionAlgorithm::kUnset;
  if (emulates && IsFloat(lhs_type) && IsFloat(rhs_type)) {
    HLO_ASSIGN_OR_RETURN(const Literal total,
                         SumByAlgorithm(algorithm, context.operands[0], context.operands[1], sum));
    return RoundedSum(total, product, context.shape());
  }
  HLO_ASSIGN_OR_RETURN(const Literal total, sum(context.operands[0], context.operands[1]));
  return RoundedSum(total, product, context.shape());
}

// The sum of the products of RaggedRows.
absl::StatusOr<Literal> RaggedDot(OpContext& context) {
  const Literal &lhs_operand = context.operands[0], &rhs_operand = context.operands[1];
  const ElementType product = ProductType(lhs_operand.type(), rhs_operand.type(), context.shape().type());
  const ElementType type = ContractionType(product);
  HLO_ASSIGN_OR_RETURN(const RaggedRows rows,
                       RaggedRows::Make(context.instruction, lhs_operand, rhs_operand, context.operands[2]));
  HLO_ASSIGN_OR_RETURN(Literal lhs, Widened(lhs_operand, type));
  HLO_ASSIGN_OR_RETURN(Literal rhs, Widened(rhs_operand, type));
  HLO_ASSIGN_OR_RETURN(lhs, Transposed(lhs, rows.lhs_order()));
  HLO_ASSIGN_OR_RETURN(rhs, Transposed(rhs, rows.rhs_order()));
  HLO_ASSIGN_OR_RETURN(Literal sum, Literal::CreateZeros(Shape::Array(type, context.shape().dims())));
  DeadlineChecker deadline;
  HLO_RETURN_IF_ERROR(DispatchWide(type, [&]<class W>() {
    return rows.Each([&](const RaggedRows::Row& row) {
      AddScaled(lhs.span<W>()[row.lhs], rhs.span<W>().data() + row.rhs, rows.length(),
                sum.mutable_span<W>().data() + row.result);
      return deadline.Spend(rows.length() + 16);
    });
  }));
  return RoundedSum(sum, product, context.shape());
}

// The dot of lhs[i] * lhs_scale[i / block] and rhs[j] * rhs_scale[j / block], after conversion of all four to
// the result type.
absl::StatusOr<Literal> ScaledDot(OpContext& context) {
  const ElementType lhs_type = context.operands[0].type(), rhs_type = context.operands[1].type();
  const bool floats_to_integer =
      IsIntegral(context.shape().type()) && (IsFloat(lhs_type) || IsFloat(rhs_type));
  const ElementType declared = floats_to_integer ? ElementType::kF32 : context.shape().type();
  const ElementType type = ContractionType(declared);
  std::vector<Literal> operands(context.operands.begin(), context.operands.end());
  for (Literal& operand : operands) {
    HLO_ASSIGN_OR_RETURN(operand, WithType(operand, declared));
    HLO_ASSIGN_OR_RETURN(operand, Widened(operand, type));
  }
  HLO_ASSIGN_OR_RETURN(const Literal lhs, Scaled(operands[0], operands[2]));
  HLO_ASSIGN_OR_RETURN(const Literal rhs, Scaled(operands[1], operands[3]));
  HLO_ASSIGN_OR_RETURN(const Literal sum,
                       DotSum(lhs, LhsDims(context.instruction), rhs, RhsDims(context.instruction), type));
  return RoundedSum(sum, declared, context.shape());
}

}  // namespace hlo::reference
