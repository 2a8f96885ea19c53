#include "reference/custom/slices.h"

#include <utility>

#include "base/status.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/custom/signature.h"
#include "types/index.h"

namespace hlo::reference::custom {
namespace {

ElementType WideOf(ElementType type) {
  if (IsComplex(type)) return ElementType::kC128;
  return IsFloat(type) ? ElementType::kF64 : ElementType::kS64;
}

// Small integers are bytes of a workspace, which remain zero.
bool IsScratch(const Shape& shape) {
  return !shape.IsArray() || (BitWidth(shape.type()) < 16 && !IsFloat(shape.type()));
}

}  // namespace

absl::StatusOr<Slices> Slices::Make(OpContext& context, int64_t array, int64_t leading) {
  Slices slices;
  slices.leading_ = leading;
  slices.count_ = Product(context.operands[array].dims().first(leading));
  slices.is_complex_ = IsComplex(context.operands[array].type());
  for (Literal& operand : context.operands) {
    HLO_ASSIGN_OR_RETURN(Literal wide, Widened(operand, WideOf(operand.type())));
    slices.operands_.push_back(std::move(wide));
  }
  for (const Shape& shape : ResultShapes(context.instruction)) {
    Literal wide;
    if (!IsScratch(shape)) {
      HLO_ASSIGN_OR_RETURN(wide, Literal::CreateZeros(Shape::Array(WideOf(shape.type()), shape.dims())));
    }
    slices.results_.push_back(std::move(wide));
  }
  return slices;
}

absl::StatusOr<Literal> Slices::Finish(const Shape& shape) {
  const bool several = shape.IsTuple();
  std::vector<Literal> results;
  for (size_t i = 0; i < results_.size(); ++i) {
    const Shape& wanted = several ? shape.element(static_cast<int64_t>(i)) : shape;
    HLO_ASSIGN_OR_RETURN(Literal result, results_[i].shape().IsValid() ? Rounded(results_[i], wanted)
                                                                       : Literal::CreateZeros(wanted));
    results.push_back(std::move(result));
  }
  return several ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace hlo::reference::custom
