// Conversion between dynamically sized arrays and arrays of their bounds (semantics 9.2).

#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "reference/dynamic_sizes.h"

namespace hlo::reference::custom {
namespace {

// True if the shapes are one s32 per dimension.
template <class Shapes>
std::string SizesMismatch(const Shape& array, const Shapes& sizes) {
  bool fits = static_cast<int64_t>(sizes.size()) == array.rank();
  for (const Shape& size : sizes) fits &= size.IsScalar(ElementType::kS32);
  return fits ? "" : fmt::format("the sizes of {} are an s32[] for each dimension", ToString(array));
}

}  // namespace

std::string PadToStaticMismatch(const Instruction& call) {
  const Shape &from = call.operand(0)->shape(), &shape = call.shape();
  if (!shape.IsTuple() || from.dims() != shape.element(0).dims())
    return fmt::format("{} is padded to {}", ToString(from), ToString(shape));
  return SizesMismatch(from, shape.elements().subspan(1));
}

// Returns (data up to the bounds, the size of each dimension).
absl::StatusOr<Literal> PadToStatic(OpContext& context) {
  const Literal& operand = context.operands[0];
  std::vector<Literal> results = {Literal::FromBuffer(context.shape().element(0), operand.buffer())};
  for (int64_t d = 0; d < operand.rank(); ++d) {
    HLO_ASSIGN_OR_RETURN(Literal size, Literal::Create(Shape::Scalar(ElementType::kS32)));
    size.mutable_span<int32_t>()[0] = static_cast<int32_t>(operand.dynamic_size(d));
    results.push_back(std::move(size));
  }
  return Literal::Tuple(std::move(results));
}

std::string SliceToDynamicMismatch(const Instruction& call) {
  const Shape &from = call.operand(0)->shape(), &shape = call.shape();
  if (from.dims() != shape.dims()) return fmt::format("{} is sliced to {}", ToString(from), ToString(shape));
  std::vector<Shape> sizes;
  for (const Instruction* operand : call.operands().subspan(1)) sizes.push_back(operand->shape());
  return SizesMismatch(from, sizes);
}

// Returns the leading part of an array with the sizes in the other operands.
absl::StatusOr<Literal> SliceToDynamic(OpContext& context) {
  const Shape& shape = context.shape();
  Literal result = context.operands[0].WithShape(shape);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t size = context.operands[d + 1].span<int32_t>()[0];
    HLO_RETURN_IF_ERROR(CheckRunTimeSize(context.instruction, d, size));
    if (shape.IsDynamic(d)) result.set_dynamic_size(d, size);
  }
  return result;
}

}  // namespace hlo::reference::custom
