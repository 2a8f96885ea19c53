#include "plan/rewrite/degenerate_contractions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hlo_run/builder.h"
#include "plan/codegen/operations.h"
#include "plan/rewrite/replacement.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

bool HaveSizeOne(const Shape& shape, IntList dims) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return shape.dim(d) == 1; });
}

// True if the product of any two numbers of these types, computed in the result's type, equals the
// contraction of one pair. f8e8m0fnu has a larger range than f16, although f16 is wider.
bool HaveExactProducts(ElementType a, ElementType b, ElementType result) {
  const auto fits = [&](ElementType type) {
    if (type == result) return true;
    if (type == ElementType::kF8E8M0FNU && BitWidth(result) < 32) return false;
    return BitWidth(type) < BitWidth(result) && IsFloat(type) == IsFloat(result) &&
           (IsFloat(type) || IsSigned(type) == IsSigned(result));
  };
  return (IsFloat(result) || IsIntegral(result)) && fits(a) && fits(b);
}

}  // namespace

std::optional<CheckedModule> ReplaceDegenerateReduce(const Instruction& reduce) {
  if (reduce.operand_count() != 2 || !reduce.shape().IsArray()) return std::nullopt;
  const Shape& elements = reduce.operand(0)->shape();
  const Computation& code = *reduce.Get<attr::to_apply>();
  const ElementType type = elements.type();
  const auto is_of_type = [&](const Shape& shape) { return shape.IsArray(type); };
  if (!HaveSizeOne(elements, reduce.Get<attr::dimensions>()) || !is_of_type(reduce.operand(1)->shape()) ||
      !is_of_type(reduce.shape()) || !is_of_type(code.parameter(0)->shape()) ||
      !is_of_type(code.parameter(1)->shape()) || !is_of_type(code.root()->shape()) ||
      !IsElementwiseCode(code))
    return std::nullopt;
  build::Builder builder(reduce.name());
  const Op operand = builder.Parameter(0, elements.WithoutLayouts());
  return BuildReplacement(builder, build::Reshape(operand, reduce.shape().dims()), reduce);
}

std::optional<CheckedModule> ReplaceDegenerateDot(const Instruction& dot) {
  const ElementType type = dot.shape().type();
  if (dot.operand_count() != 2 || dot.Has<attr::dot_algorithm>() || dot.Has<attr::sparsity_config>() ||
      dot.Has<attr::block_scaling_config>())
    return std::nullopt;
  const Shape &lhs = dot.operand(0)->shape(), &rhs = dot.operand(1)->shape();
  const IntList contracted[] = {dot.Get<attr::lhs_contracting_dims>(), dot.Get<attr::rhs_contracting_dims>()};
  const IntList batch[] = {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::rhs_batch_dims>()};
  if (!HaveSizeOne(lhs, contracted[0]) || !HaveExactProducts(lhs.type(), rhs.type(), type))
    return std::nullopt;
  build::Builder builder(dot.name());
  Op factors[2];
  auto free = static_cast<int64_t>(
      batch[0].size());  // The next dimension of the result that is not a batch dimension.
  for (const int64_t side : {0, 1}) {
    const Shape& shape = dot.operand(side)->shape();
    std::vector<int64_t> dims, places;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (std::find(contracted[side].begin(), contracted[side].end(), d) != contracted[side].end()) continue;
      const auto at = std::find(batch[side].begin(), batch[side].end(), d);
      places.push_back(at != batch[side].end() ? at - batch[side].begin() : free++);
      dims.push_back(shape.dim(d));
    }
    const Op factor = build::Reshape(builder.Parameter(side, shape.WithoutLayouts()), dims);
    factors[side] = build::BroadcastInDim(factor, dot.shape().dims(), places);
    if (shape.type() != type) factors[side] = build::ConvertElementType(factors[side], type);
  }
  const Op product = factors[0] * factors[1];
  // The sum of a contraction begins with +0, which turns a product of -0 into +0.
  return BuildReplacement(builder, IsFloat(type) ? product + build::FullLike(product, 0) : product, dot);
}

}  // namespace hlo::plan
