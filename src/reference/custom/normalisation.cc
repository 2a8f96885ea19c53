// Normalisation layers of cuDNN and oneDNN (semantics 9.7).

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "types/index.h"

namespace hlo::reference::custom {

Options NormOptions(const Instruction& call) { return Options(call).Group("cudnn_norm_backend_config"); }

int64_t RowWidth(const Shape& x) { return Product(x.dims().subspan(1)); }

OnednnRows OnednnRowsOf(const Instruction& call) {
  const Options norm = Options(call).Group("onednn_layer_norm_config"),
                softmax = Options(call).Group("onednn_softmax_config");
  // epsilon may be given as the bits of an f32.
  return {norm.Has("epsilon_typecast")
              ? std::bit_cast<float>(static_cast<int32_t>(norm.Int("epsilon_typecast", 0)))
              : norm.Number("epsilon", 1e-5),
          softmax.Int("softmax_axis", call.operand(0)->shape().rank() - 1)};
}

namespace {

absl::StatusOr<Literal> AsF64(const Literal& array) { return Widened(array, ElementType::kF64); }

// Rounds the results; the workspace after them is zero.
absl::StatusOr<Literal> RoundedResults(const Shape& shape, std::vector<Literal> wide) {
  if (!shape.IsTuple()) return Rounded(wide[0], shape);
  std::vector<Literal> results;
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    const Shape& one = shape.element(static_cast<int64_t>(i));
    HLO_ASSIGN_OR_RETURN(Literal result, i < wide.size() ? Rounded(wide[i], one) : Literal::CreateZeros(one));
    results.push_back(std::move(result));
  }
  return Literal::Tuple(std::move(results));
}

struct Moments {
  double mean = 0, factor = 0;  // factor = 1 / sqrt(variance + epsilon).
};
Moments MomentsOf(absl::Span<const double> x, double epsilon) {
  double sum = 0, squares = 0;
  for (const double v : x) sum += v;
  const double mean = sum / static_cast<double>(x.size());
  for (const double v : x) squares += (v - mean) * (v - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon)};
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias for each row of `width` elements.
struct Normalised {
  Literal y;
  std::vector<Moments> moments;
};
absl::StatusOr<Normalised> NormaliseRows(const OpContext& context, int64_t width, double epsilon) {
  HLO_ASSIGN_OR_RETURN(const Literal x, AsF64(context.operands[0]));
  HLO_ASSIGN_OR_RETURN(const Literal scale, AsF64(context.operands[1]));
  HLO_ASSIGN_OR_RETURN(const Literal bias, AsF64(context.operands[2]));
  Normalised result;
  HLO_ASSIGN_OR_RETURN(result.y, WideZeros(x.dims()));
  for (int64_t at = 0; at < x.element_count(); at += width) {
    const auto row = x.span<double>().subspan(at, width);
    const Moments m = MomentsOf(row, epsilon);
    result.moments.push_back(m);
    for (int64_t j = 0; j < width; ++j) {
      result.y.mutable_span<double>()[at + j] =
          (row[j] - m.mean) * m.factor * scale.span<double>()[j] + bias.span<double>()[j];
    }
  }
  return result;
}

absl::StatusOr<Literal> ArrayOf(absl::Span<const Moments> moments, double Moments::*member) {
  HLO_ASSIGN_OR_RETURN(Literal list, Literal::CreateZeros(Shape::Array(
                                         ElementType::kF64, {static_cast<int64_t>(moments.size())})));
  for (size_t i = 0; i < moments.size(); ++i) list.mutable_span<double>()[i] = moments[i].*member;
  return list;
}

// With g = dy * scale and z = (x - mean) * factor: dx = factor * (g - mean(g) - z * mean(g * z)); dscale and
// dbias are the sums over rows of dy * z and dy.
absl::StatusOr<Literal> NormBackward(const OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const Literal x, AsF64(context.operands[0]));
  HLO_ASSIGN_OR_RETURN(const Literal scale, AsF64(context.operands[1]));
  HLO_ASSIGN_OR_RETURN(const Literal dy, AsF64(context.operands[2]));
  HLO_ASSIGN_OR_RETURN(const Literal mean, AsF64(context.operands[3]));
  HLO_ASSIGN_OR_RETURN(const Literal factor, AsF64(context.operands[4]));
  HLO_ASSIGN_OR_RETURN(Literal dx, WideZeros(x.dims()));
  HLO_ASSIGN_OR_RETURN(Literal dscale, WideZeros(scale.dims()));
  HLO_ASSIGN_OR_RETURN(Literal dbias, WideZeros(scale.dims()));
  const int64_t width = RowWidth(x.shape());
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const double f = factor.span<double>()[row];
    std::vector<double> g(width), z(width);
    double g_mean = 0, gz_mean = 0;
    for (int64_t j = 0; j < width; ++j) {
      const double d = dy.span<double>()[row * width + j];
      z[j] = (x.span<double>()[row * width + j] - mean.span<double>()[row]) * f;
      g[j] = d * scale.span<double>()[j];
      g_mean += g[j] / static_cast<double>(width);
      gz_mean += g[j] * z[j] / static_cast<double>(width);
      dscale.mutable_span<double>()[j] += d * z[j];
      dbias.mutable_span<double>()[j] += d;
    }
    for (int64_t j = 0; j < width; ++j)
      dx.mutable_span<double>()[row * width + j] = f * (g[j] - g_mean - z[j] * gz_mean);
  }
  return RoundedResults(context.shape(), {dx, dscale, dbias});
}

}  // namespace

std::string NormMismatch(const Instruction& call) {
  const std::string kind = NormOptions(call).Text("kind", "");
  const bool backward = kind == "LAYER_BWD";
  if (!backward && kind != "LAYER_FWD_INFER" && kind != "LAYER_FWD_TRAIN")
    return fmt::format("its kind of norm, '{}', is not known", kind);
  const Shape& x = call.operand(0)->shape();
  if (call.operand_count() != (backward ? 5 : 3) || !call.shape().IsTuple() || x.rank() < 1)
    return fmt::format("a norm of kind {} has {} operands and several results", kind, backward ? 5 : 3);
  std::vector<int64_t> wanted = {x.dim(0) * RowWidth(x), RowWidth(x), RowWidth(x)};
  if (backward) wanted = {wanted[0], RowWidth(x), wanted[0], x.dim(0), x.dim(0)};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Shape& operand = call.operand(static_cast<int64_t>(i))->shape();
    if (!operand.IsArray() || !IsFloat(operand.type()) || operand.ElementCount() != wanted[i])
      return fmt::format("operand {} of the norm of {} is {}", i, ToString(x), ToString(operand));
  }
  std::vector<int64_t> results = {wanted[0]};
  if (backward) results = {wanted[0], RowWidth(x), RowWidth(x)};
  if (kind == "LAYER_FWD_TRAIN") results = {wanted[0], x.dim(0), x.dim(0)};
  if (call.shape().elements().size() < results.size()) return "it has too few results";
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& result = call.shape().element(static_cast<int64_t>(i));
    if (!result.IsArray() || !IsFloat(result.type()) || result.ElementCount() != results[i])
      return fmt::format("result {} of the norm of {} is {}", i, ToString(x), ToString(result));
  }
  return "";
}

// Layer normalisation over all dimensions except the first.
absl::StatusOr<Literal> Norm(OpContext& context) {
  const Options options = NormOptions(context.instruction);
  const std::string kind = options.Text("kind", "");
  if (kind == "LAYER_BWD") return NormBackward(context);
  const int64_t width = RowWidth(context.operands[0].shape());
  if (width == 0) return Literal::CreateZeros(context.shape());
  HLO_ASSIGN_OR_RETURN(const Normalised rows, NormaliseRows(context, width, options.Number("epsilon", 1e-5)));
  if (kind == "LAYER_FWD_INFER") return RoundedResults(context.shape(), {rows.y});
  HLO_ASSIGN_OR_RETURN(const Literal mean, ArrayOf(rows.moments, &Moments::mean));
  HLO_ASSIGN_OR_RETURN(const Literal factor, ArrayOf(rows.moments, &Moments::factor));
  return RoundedResults(context.shape(), {rows.y, mean, factor});
}

// Layer normalisation over the last dimension.
absl::StatusOr<Literal> OnednnLayerNorm(OpContext& context) {
  const Literal& x = context.operands[0];
  if (x.element_count() == 0) return Literal::CreateZeros(context.shape());
  const double epsilon = OnednnRowsOf(context.instruction).epsilon;
  HLO_ASSIGN_OR_RETURN(const Normalised rows, NormaliseRows(context, x.dim(x.rank() - 1), epsilon));
  return RoundedResults(context.shape(), {rows.y});
}

std::string SoftmaxMismatch(const Instruction& call) {
  const Shape& x = call.operand(0)->shape();
  const int64_t axis = OnednnRowsOf(call).axis;
  return axis >= 0 && axis < x.rank() ? "" : fmt::format("{} has no dimension {}", ToString(x), axis);
}

// exp(x - max) / sum of exp(x - max) along one dimension.
absl::StatusOr<Literal> OnednnSoftmax(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const Literal x, AsF64(context.operands[0]));
  HLO_ASSIGN_OR_RETURN(Literal y, WideZeros(x.dims()));
  const int64_t axis = OnednnRowsOf(context.instruction).axis;
  const Index strides = RowMajorStrides(x.dims()), others = OtherDims(x.rank(), {axis});
  const int64_t n = x.dim(axis), step = strides[axis];
  for (const Index& i : EachIndex(Pick(x.dims(), others))) {
    const double* in = x.span<double>().data() + Offset(i, Pick(strides, others));
    double* out = y.mutable_span<double>().data() + (in - x.span<double>().data());
    double largest = n > 0 ? in[0] : 0, sum = 0;
    for (int64_t j = 0; j < n; ++j) largest = std::max(largest, in[j * step]);
    for (int64_t j = 0; j < n; ++j) sum += out[j * step] = std::exp(in[j * step] - largest);
    for (int64_t j = 0; j < n; ++j) out[j * step] /= sum;
  }
  return RoundedResults(context.shape(), {y});
}

}  // namespace hlo::reference::custom
