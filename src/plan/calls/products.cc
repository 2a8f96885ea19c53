// Matrix products of cuBLAS and oneDNN, and block-scaled arrays.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/result_shapes.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "plan/calls/fused_operations.h"
#include "plan/calls/replacement.h"
#include "reference/custom/call_options.h"
#include "reference/custom/onednn.h"
#include "reference/custom/pointwise.h"
#include "types/index.h"

namespace hlo::plan::calls {
namespace {

using reference::custom::Activation;
using reference::custom::GemmOperands;
using reference::custom::Options;

build::DotDimensions DimensionsOf(const Options& numbers) {
  return {.lhs_contracting = ToVector(numbers.Ints("lhs_contracting_dimensions")),
          .rhs_contracting = ToVector(numbers.Ints("rhs_contracting_dimensions")),
          .lhs_batch = ToVector(numbers.Ints("lhs_batch_dimensions")),
          .rhs_batch = ToVector(numbers.Ints("rhs_batch_dimensions"))};
}

// Multiplies by the alpha of the configuration, whose imaginary part has no effect on real products.
Op ScaledByAlpha(CallBuilder& b, const Options& options, Op x) {
  const double real = options.Number("alpha_real", 1), imaginary = options.Number("alpha_imag", 0);
  if (!IsComplex(x.type()) || imaginary == 0) return CallBuilder::Scaled(x, real);
  const ElementType part = ComponentType(x.type());
  return x * build::Complex(b.builder().Constant(part, real), b.builder().Constant(part, imaginary));
}

// Applies the epilogue to a product: activation(alpha x + beta c + bias), scaled, and its further results.
Expansion FinishProduct(CallBuilder& b, const Options& options, const GemmOperands& which, Op x) {
  const std::string epilogue = options.Text("epilogue", "DEFAULT");
  const std::optional<Activation> activation = reference::custom::FindEpilogue(epilogue);
  if (!activation) return std::nullopt;
  const absl::Span<const Shape> results = b.results();
  x = ScaledByAlpha(b, options, b.Named(x));
  for (const int scale : {which.a_scale, which.b_scale}) {
    if (scale >= 0) x = x * build::Reshape(b.Wide(scale), {});
  }
  if (which.c >= 0) x = x + CallBuilder::Scaled(b.Wide(which.c), options.Number("beta", 0));
  // The bias is the left operand, so that its conversion does not come between the product and the
  // operations that follow it.
  if (which.bias >= 0)
    x = CallBuilder::Along(b.Wide(which.bias), results[0].dims(), results[0].rank() - 1) + x;
  const Op before = x;
  x = Activated(*activation, x);
  std::vector<Op> all = {x};
  if (which.d_scale >= 0)
    all[0] = Saturated(x * build::Reshape(b.Wide(which.d_scale), {}), results[0].type());
  if (results.size() > 1 && epilogue.find("AUX") != std::string::npos &&
      SameDimensions(results[1], results[0])) {
    all.push_back(before);
  } else if (results.size() > 1 && which.a_scale >= 0 && results[1].IsScalar(ElementType::kF32)) {
    all.push_back(b.LargestAbsolute(x));
  }
  for (const Shape& rest : results.subspan(all.size())) {
    if (IsFloat(rest.type())) return std::nullopt;  // Scratch memory is an array of bytes.
  }
  return b.Finish(all);
}

// True if only the reference implements the epilogue in the type of the result.
bool HasOtherType(const CallBuilder& b, bool plain) {
  const ElementType type = b.results()[0].type();
  return (IsIntegral(type) && !plain) ||
         (IsComplex(type) && (b.shape_of(0).type() != type || b.shape_of(1).type() != type));
}

bool IsPlain(const Options& options, int64_t operands, int64_t arrays) {
  return options.Number("alpha_real", 1) == 1 && operands == arrays &&
         options.Text("epilogue", "DEFAULT") == "DEFAULT";
}

}  // namespace

Expansion Gemm(const Instruction& call) {
  CallBuilder b(call);
  const Options options = reference::custom::GemmOptions(call);
  const GemmOperands which = reference::custom::GemmOperandsOf(call);
  if (HasOtherType(b, IsPlain(options, which.count, 2))) return std::nullopt;
  const Op x = build::DotGeneral(b.Raw(0), b.Raw(1), DimensionsOf(options.Group("dot_dimension_numbers")),
                                 {.preferred_element_type = b.type()});
  return FinishProduct(b, options, which, x);
}

Expansion GroupedMatmul(const Instruction& call) {
  CallBuilder b(call);
  const Options options = reference::custom::GroupedOptions(call).Group("gemm_backend_config");
  const GemmOperands which = reference::custom::GroupedOperandsOf(options);
  if (HasOtherType(b, IsPlain(options, which.count, 3))) return std::nullopt;
  const reference::custom::RaggedDims dims = reference::custom::RaggedDimsOf(call);
  const build::DotDimensions numbers = {ToVector(dims.l_contracting), ToVector(dims.r_contracting),
                                        ToVector(dims.l_batch), ToVector(dims.r_batch)};
  const Op x = build::RaggedDot(b.Raw(0), b.Raw(1), b.Raw(2), numbers, dims.ragged, dims.groups,
                                {.preferred_element_type = b.type()});
  return FinishProduct(b, options, which, x);
}

Expansion OnednnMatmul(const Instruction& call) {
  CallBuilder b(call);
  if (!IsFloat(b.results()[0].type())) b.set_type(ElementType::kF64);
  const reference::custom::MatmulForm form = reference::custom::MatmulFormOf(call);
  Op x = build::DotGeneral(b.Raw(0), b.Raw(1),
                           {ToVector(form.l.contracting), ToVector(form.r.contracting),
                            ToVector(form.l.batch), ToVector(form.r.batch)},
                           {.preferred_element_type = b.type()});
  x = Fused(b, reference::custom::MatmulOptions(call), b.results()[0].rank() - 1, b.Named(x));
  return b.Finish({x});
}

// A missing scale of the right operand is 1. The product is in f64 if it is scaled, too.
Expansion BlockScaledDot(const Instruction& call) {
  CallBuilder b(call);
  const bool is_scaled = b.operand_count() > 4;
  if (is_scaled && !IsFloat(b.results()[0].type())) return std::nullopt;
  if (is_scaled) b.set_type(ElementType::kF64);
  const reference::custom::ProductForm form = reference::custom::ProductFormOf(call);
  const std::vector<int64_t> ones(static_cast<size_t>(b.shape_of(1).rank()), 1);
  const Op scale =
      b.operand_count() > 3 ? b.Raw(3) : build::Broadcast(b.builder().Constant(ElementType::kF32, 1), ones);
  const Op product =
      build::ScaledDot(b.Raw(0), b.Raw(2), b.Raw(1), scale,
                       {ToVector(form.l_contracting), ToVector(form.r_contracting), ToVector(form.l_batch),
                        ToVector(form.r_batch)},
                       {.preferred_element_type = is_scaled ? ElementType::kF64 : b.results()[0].type()});
  if (!is_scaled) return b.Finish({product});
  return b.Finish({b.Named(product) * build::Reshape(b.Wide(4), {})});
}

// c = alpha a a^T + beta c
Expansion Syrk(const Instruction& call) {
  CallBuilder b(call);
  std::vector<int64_t> batch;
  const int64_t rank = b.shape_of(0).rank();
  for (int64_t d = 0; d + 2 < rank; ++d) batch.push_back(d);
  const bool transpose = Options(call).Bool("transpose", false);
  const std::vector<int64_t> sum = {transpose ? rank - 2 : rank - 1};
  const Op product =
      build::DotGeneral(b.Raw(0), b.Raw(0), {sum, sum, batch, batch}, {.preferred_element_type = b.type()});
  return b.Finish({b.Wide(2) * b.Named(product) + b.Wide(3) * b.Wide(1)});
}

namespace {

// Splits the last dimension into blocks.
std::vector<int64_t> InBlocks(const Shape& x, const Shape& scale) {
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  const int64_t blocks = scale.dim(scale.rank() - 1);
  dims.back() = blocks;
  dims.push_back(blocks == 0 ? 0 : x.dim(x.rank() - 1) / blocks);
  return dims;
}

// Repeats the scale of a block for its elements.
Op ForElements(Op scale, const std::vector<int64_t>& dims) {
  std::vector<int64_t> broadcast_dims;
  for (int64_t d = 0; d < scale.rank(); ++d) broadcast_dims.push_back(d);
  return build::BroadcastInDim(scale, dims, broadcast_dims);
}

}  // namespace

// scale = max |x| of a block / 2^e, where 2^e is the largest power of two of q's type; q = x / scale. It
// computes in f64, because a quotient in f32 would be rounded twice.
Expansion Quantize(const Instruction& call) {
  CallBuilder b(call);
  b.set_type(ElementType::kF64);
  const Shape &q = b.results()[0], &scales = b.results()[1];
  const double power = std::exp2(std::floor(std::log2(reference::custom::LargestFinite(q.type()))));
  const std::vector<int64_t> dims = InBlocks(q, scales);
  const Op x = build::Reshape(b.Wide(0), dims), zero = build::FullLike(x, 0);
  const Op size = build::Select(build::Eq(x, x), build::Abs(x), zero);
  const Op largest = build::Max(b.Max(size / build::ScalarLike(x, power), {q.rank()}), b.Number(0));
  const Op scale = CallBuilder::As(build::Reshape(largest, scales.dims()), scales.type());
  const Op quotient = x / ForElements(CallBuilder::As(scale, b.type()), dims);
  return b.Finish({build::Select(build::Eq(x, zero), x, quotient), scale});
}

Expansion Dequantize(const Instruction& call) {
  CallBuilder b(call);
  b.set_type(ElementType::kF64);
  const std::vector<int64_t> dims = InBlocks(b.shape_of(0), b.shape_of(1));
  return b.Finish({build::Reshape(b.Wide(0), dims) * ForElements(b.Wide(1), dims)});
}

}  // namespace hlo::plan::calls
