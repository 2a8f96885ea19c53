// Arrays of narrow floats with a scale per block (semantics 6.3, 9.7).

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/custom/as_instruction.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/pointwise.h"
#include "reference/custom/signature.h"
#include "types/index.h"

namespace hlo::reference::custom {

ProductForm ProductFormOf(const Instruction& call) {
  const Options numbers = Options(call).Group("gemm_backend_config").Group("dot_dimension_numbers");
  if (numbers.Has("lhs_contracting_dimensions")) {
    return {numbers.Ints("lhs_batch_dimensions"), numbers.Ints("lhs_contracting_dimensions"),
            numbers.Ints("rhs_batch_dimensions"), numbers.Ints("rhs_contracting_dimensions")};
  }
  ProductForm form;
  for (int64_t d = 0; d + 2 < call.operand(0)->shape().rank(); ++d) form.l_batch.push_back(d);
  form.r_batch = form.l_batch;
  form.l_contracting = {call.operand(0)->shape().rank() - 1};
  form.r_contracting = {call.operand(1)->shape().rank() - 1};
  return form;
}

namespace {

// Checks for one scale per block along the last dimension.
std::string ScaleMismatch(const Shape& x, const Shape& scale) {
  bool fits = x.rank() > 0 && scale.rank() == x.rank();
  for (int64_t d = 0; fits && d + 1 < x.rank(); ++d) fits = x.dim(d) == scale.dim(d);
  fits = fits && scale.dim(x.rank() - 1) > 0 && x.dim(x.rank() - 1) % scale.dim(x.rank() - 1) == 0;
  if (fits && IsFloat(x.type()) && IsFloat(scale.type())) return "";
  return fmt::format("{} are not the scales of blocks of {}", ToString(scale), ToString(x));
}

int64_t BlockOf(const Literal& x, const Literal& scale) {
  return x.dim(x.rank() - 1) / scale.dim(scale.rank() - 1);
}

InstructionForm ScaledDotForm(const ProductForm& form, const Shape& shape) {
  return {Opcode::kScaledDot,
          {Attribute<attr::lhs_batch_dims>(form.l_batch),
           Attribute<attr::lhs_contracting_dims>(form.l_contracting),
           Attribute<attr::rhs_batch_dims>(form.r_batch),
           Attribute<attr::rhs_contracting_dims>(form.r_contracting)},
          shape};
}

// Returns the shape of a scale of 1 for the whole array.
Shape NoScale(const Shape& x) { return Shape::Array(ElementType::kF32, Index(x.rank(), 1)); }

}  // namespace

std::string QuantizeMismatch(const Instruction& call) {
  const Shape &x = call.operand(0)->shape(), &q = ResultShapes(call)[0], &scale = ResultShapes(call)[1];
  if (q.dims() != x.dims() || !IsFloat(x.type()))
    return fmt::format("{} is not quantized to {}", ToString(x), ToString(q));
  return ScaleMismatch(q, scale);
}

// scale = max |x| of a block / 2^e, where 2^e is the largest power of two of q's type; q = x / scale.
absl::StatusOr<Literal> Quantize(OpContext& context) {
  const Shape& q_shape = context.shape().element(0);
  HLO_ASSIGN_OR_RETURN(Literal x, Widened(context.operands[0], ElementType::kF64));
  HLO_RETURN_IF_ERROR(x.MakeUnique());
  const double power = std::exp2(std::floor(std::log2(LargestFinite(q_shape.type()))));
  HLO_ASSIGN_OR_RETURN(Literal scales, Literal::CreateZeros(Shape::Array(ElementType::kF64,
                                                                         context.shape().element(1).dims())));
  const int64_t block = BlockOf(x, scales);
  for (int64_t b = 0; b < scales.element_count(); ++b) {
    for (const double v : x.span<double>().subspan(b * block, block))
      scales.mutable_span<double>()[b] = std::max(scales.span<double>()[b], std::abs(v) / power);
  }
  HLO_ASSIGN_OR_RETURN(Literal scale, Rounded(scales, context.shape().element(1)));
  HLO_ASSIGN_OR_RETURN(scales, Widened(scale, ElementType::kF64));
  for (int64_t i = 0; i < x.element_count(); ++i) {
    double& v = x.mutable_span<double>()[i];
    if (v != 0) v /= scales.span<double>()[i / block];
  }
  HLO_ASSIGN_OR_RETURN(Literal q, Rounded(x, q_shape));
  return Literal::Tuple({std::move(q), std::move(scale)});
}

std::string DequantizeMismatch(const Instruction& call) {
  return ScaleMismatch(call.operand(0)->shape(), call.operand(1)->shape());
}

// Returns q * scale of its block.
absl::StatusOr<Literal> Dequantize(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal q, Widened(context.operands[0], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(const Literal scale, Widened(context.operands[1], ElementType::kF64));
  HLO_RETURN_IF_ERROR(q.MakeUnique());
  const int64_t block = BlockOf(q, scale);
  for (int64_t i = 0; i < q.element_count(); ++i)
    q.mutable_span<double>()[i] *= scale.span<double>()[i / block];
  return Rounded(q, context.shape());
}

std::string BlockScaledDotMismatch(const Instruction& call) {
  std::vector<Shape> operands;
  for (const Instruction* operand : call.operands()) operands.push_back(operand->shape());
  if (operands.size() == 3) operands.push_back(NoScale(operands[1]));
  operands.resize(4);  // The fifth is a scalar.
  const ProductForm form = ProductFormOf(call);
  return FormMismatch(ScaledDotForm(form, ResultShapes(call)[0]), operands);
}

absl::StatusOr<Literal> BlockScaledDot(OpContext& context) {
  std::vector<Literal> operands(context.operands.begin(), context.operands.end());
  if (operands.size() == 3) {
    HLO_ASSIGN_OR_RETURN(Literal none, Literal::Create(NoScale(operands[1].shape())));
    none.mutable_span<float>()[0] = 1;
    operands.push_back(std::move(none));
  }
  const ProductForm form = ProductFormOf(context.instruction);
  const Shape& shape = ResultShapes(context.instruction)[0];
  if (operands.size() == 4) {
    HLO_ASSIGN_OR_RETURN(Literal product, RunForm(context, ScaledDotForm(form, shape), std::move(operands)));
    return WithZeroedRest(context.shape(), std::move(product));
  }
  HLO_ASSIGN_OR_RETURN(const Literal factor, Widened(operands.back(), ElementType::kF64));
  operands.pop_back();
  const Shape wide = Shape::Array(ElementType::kF64, shape.dims());
  HLO_ASSIGN_OR_RETURN(Literal product, RunForm(context, ScaledDotForm(form, wide), std::move(operands)));
  HLO_RETURN_IF_ERROR(product.MakeUnique());
  for (double& sum : product.mutable_span<double>()) sum *= factor.span<double>()[0];
  HLO_ASSIGN_OR_RETURN(Literal rounded, Rounded(product, shape));
  return WithZeroedRest(context.shape(), std::move(rounded));
}

}  // namespace hlo::reference::custom
