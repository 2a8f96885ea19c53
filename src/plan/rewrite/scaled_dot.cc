#include "plan/rewrite/scaled_dot.h"

#include <vector>

#include "hlo_run/builder.h"
#include "plan/calls/replacement.h"

namespace hlo::plan {
namespace {

using build::Op;

// Converts to `type`, through the declared type.
Op Converted(Op x, ElementType from, ElementType declared, ElementType type) {
  if (from != declared) x = build::ConvertElementType(x, declared);
  return declared == type ? x : build::ConvertElementType(x, type);
}

struct Sizes {
  std::vector<int64_t> split,
      broadcast_dims;  // The numbers and sizes of blocks, alternating; the dimensions of the numbers.
  bool are_whole = true, are_single = true;
};
Sizes BlocksOf(const Shape& operand, const Shape& scale) {
  Sizes sizes;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t blocks = scale.dim(d), size = blocks == 0 ? 1 : operand.dim(d) / blocks;
    sizes.are_whole &= size * blocks == operand.dim(d);
    sizes.are_single &= size == 1;
    sizes.broadcast_dims.push_back(static_cast<int64_t>(sizes.split.size()));
    sizes.split.insert(sizes.split.end(), {blocks, size});
  }
  return sizes;
}

}  // namespace

std::optional<CheckedModule> ExpandScaledDot(const Instruction& scaled_dot) {
  const Shape& result = scaled_dot.shape();
  const auto type_of = [&](int64_t k) { return scaled_dot.operand(k)->shape().type(); };
  const bool floats = IsFloat(type_of(0)) && IsFloat(type_of(1));
  const ElementType declared = floats && IsIntegral(result.type()) ? ElementType::kF32 : result.type();
  const ElementType type = IsFloat(declared) && BitWidth(declared) < 32 ? ElementType::kF32 : declared;
  const bool is_mixed = IsFloat(type_of(0)) != IsFloat(type_of(1)) && IsIntegral(result.type());
  if (IsPred(declared) || is_mixed) return std::nullopt;
  build::Builder builder(scaled_dot.name());
  Op operands[4], scaled[2];
  for (int64_t k = 0; k < 4; ++k) {
    const Shape& shape = scaled_dot.operand(k)->shape();
    if (IsComplex(shape.type()) && !IsComplex(declared)) return std::nullopt;
    operands[k] = Converted(builder.Parameter(k, shape.WithoutLayouts()), shape.type(), declared, type);
  }
  for (const int64_t side : {0, 1}) {
    const Shape &shape = scaled_dot.operand(side)->shape(), &scale = scaled_dot.operand(side + 2)->shape();
    scaled[side] = operands[side];
    if (scale.rank() != shape.rank()) continue;  // A scalar is a placeholder for no scale.
    const Sizes sizes = BlocksOf(shape, scale);
    if (!sizes.are_whole) return std::nullopt;
    Op factor = operands[side + 2];
    if (!sizes.are_single)
      factor = build::Reshape(build::BroadcastInDim(factor, sizes.split, sizes.broadcast_dims), shape.dims());
    scaled[side] = scaled[side] * factor;
  }
  Op product = build::DotGeneral(scaled[0], scaled[1],
                                 {.lhs_contracting = ToVector(scaled_dot.Get<attr::lhs_contracting_dims>()),
                                  .rhs_contracting = ToVector(scaled_dot.Get<attr::rhs_contracting_dims>()),
                                  .lhs_batch = ToVector(scaled_dot.Get<attr::lhs_batch_dims>()),
                                  .rhs_batch = ToVector(scaled_dot.Get<attr::rhs_batch_dims>())},
                                 {.preferred_element_type = type});
  if (!product.ok()) return std::nullopt;
  if (type != result.type()) product = build::ConvertElementType(product, result.type());
  return BuildReplacement(builder, product, scaled_dot);
}

}  // namespace hlo::plan
