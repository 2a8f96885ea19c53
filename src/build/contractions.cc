// Builds dots, convolutions and linear algebra.

#include "base/status.h"
#include "build/emit.h"

namespace hlo::build {
namespace {

std::vector<AttrEntry> DotAttributes(const Op& at, const DotDimensions& d, const DotOptions& options) {
  std::vector<AttrEntry> attributes = {Attr<attr::lhs_contracting_dims>(KeepDims(at, d.lhs_contracting)),
                                       Attr<attr::rhs_contracting_dims>(KeepDims(at, d.rhs_contracting))};
  if (!d.lhs_batch.empty()) attributes.push_back(Attr<attr::lhs_batch_dims>(KeepDims(at, d.lhs_batch)));
  if (!d.rhs_batch.empty()) attributes.push_back(Attr<attr::rhs_batch_dims>(KeepDims(at, d.rhs_batch)));
  if (!options.precision.empty())
    attributes.push_back(Attr<attr::operand_precision>(KeepPrecision(at, options.precision)));
  if (options.algorithm != PrecisionAlgorithm::kUnset)
    attributes.push_back(Attr<attr::dot_algorithm>(options.algorithm));
  return attributes;
}

// Returns dim_labels text such as `bf01_oi01->bf01`.
std::optional<std::string> LabelText(const ConvDimensions& d) {
  const auto part = [](char first, int64_t first_at, char second, int64_t second_at, Dims spatial) {
    std::string text(spatial.size() + 2, '?');
    const auto put = [&](int64_t at, char c) {
      const bool ok = at >= 0 && at < static_cast<int64_t>(text.size()) && text[at] == '?';
      if (ok) text[at] = c;
      return ok;
    };
    bool ok = put(first_at, first) && put(second_at, second);
    for (size_t i = 0; i < spatial.size(); ++i) ok = ok && put(spatial[i], static_cast<char>('0' + i));
    return ok ? text : "";
  };
  const std::string input = part('b', d.input_batch, 'f', d.input_feature, d.input_spatial);
  const std::string kernel =
      part('i', d.kernel_input_feature, 'o', d.kernel_output_feature, d.kernel_spatial);
  const std::string output = part('b', d.output_batch, 'f', d.output_feature, d.output_spatial);
  constexpr size_t kMaxSpatial = 10;  // Each has one digit.
  if (input.empty() || kernel.empty() || output.empty() || d.input_spatial.size() > kMaxSpatial)
    return std::nullopt;
  return fmt::format("{}_{}->{}", input, kernel, output);
}

std::vector<int64_t> Sizes(const Op& x, Dims dimensions) {
  std::vector<int64_t> sizes;
  for (int64_t d : dimensions) sizes.push_back(d >= 0 && d < x.rank() ? x.shape().dim(d) : 1);
  return sizes;
}

// Returns the number of spatial dimensions of an operand with default dimension numbers.
int64_t SpatialRank(const Op& lhs) { return lhs.shape().IsArray() && lhs.rank() >= 2 ? lhs.rank() - 2 : 0; }

}  // namespace

// Contracts the last dimension of a vector or matrix with the first of the other.
Op Dot(Operand lhs, Op rhs, const DotOptions& options) {
  return DotGeneral(lhs, rhs, {.lhs_contracting = {lhs.rank() < 2 ? 0 : 1}, .rhs_contracting = {0}}, options);
}

Op DotGeneral(Operand lhs, Op rhs, const DotDimensions& dimensions, const DotOptions& options) {
  return Emit(lhs.place, Opcode::kDot, {lhs, rhs}, DotAttributes(lhs, dimensions, options), {},
              options.preferred_element_type);
}

Op ScaledDot(Operand lhs, Op lhs_scale, Op rhs, Op rhs_scale, const DotDimensions& dimensions,
             const DotOptions& options) {
  return Emit(lhs.place, Opcode::kScaledDot, {lhs, rhs, lhs_scale, rhs_scale},
              DotAttributes(lhs, dimensions, options), {}, options.preferred_element_type);
}

Op RaggedDot(Operand lhs, Op rhs, Op group_sizes, const DotDimensions& dimensions, Dims lhs_ragged_dims,
             Dims rhs_group_dims, const DotOptions& options) {
  std::vector<AttrEntry> attributes = DotAttributes(lhs, dimensions, options);
  attributes.push_back(Attr<attr::lhs_ragged_dims>(KeepDims(lhs, lhs_ragged_dims)));
  if (!rhs_group_dims.empty())
    attributes.push_back(Attr<attr::rhs_group_dims>(KeepDims(lhs, rhs_group_dims)));
  return Emit(lhs.place, Opcode::kRaggedDot, {lhs, rhs, group_sizes}, attributes, {},
              options.preferred_element_type);
}

ConvDimensions ConvDimensions::Default(int64_t spatial_rank) {
  ConvDimensions d;
  for (int64_t i = 0; i < spatial_rank; ++i) d.input_spatial.push_back(i + 2);
  d.kernel_spatial = d.output_spatial = d.input_spatial;
  return d;
}

Op Conv(Operand lhs, Op rhs, Dims strides, Padding padding, const ConvOptions& options) {
  return ConvWithGeneralDimensions(lhs, rhs, strides, padding, ConvDimensions::Default(SpatialRank(lhs)),
                                   options);
}

Op ConvWithGeneralPadding(Operand lhs, Op rhs, Dims strides, Pairs padding, const ConvOptions& options) {
  return ConvGeneral(lhs, rhs, strides, padding, ConvDimensions::Default(SpatialRank(lhs)), options);
}

Op ConvWithGeneralDimensions(Operand lhs, Op rhs, Dims strides, Padding padding,
                             const ConvDimensions& dimensions, const ConvOptions& options) {
  if (!ReadyArrays(lhs.place, "convolution", {lhs, rhs})) return Op(lhs.builder(), nullptr);
  const auto pairs = MakePadding(Sizes(lhs, dimensions.input_spatial), Sizes(rhs, dimensions.kernel_spatial),
                                 strides, padding);
  if (!pairs.ok()) return Refuse(lhs, lhs.place, "{}", Message(pairs.status()));
  return ConvGeneral(lhs, rhs, strides, *pairs, dimensions, options);
}

Op ConvGeneral(Operand lhs, Op rhs, Dims strides, Pairs padding, const ConvDimensions& dimensions,
               const ConvOptions& options) {
  return ConvGeneralDilated(lhs, rhs, strides, padding, {}, {}, dimensions, options);
}

Op ConvGeneralDilated(Operand lhs, Op rhs, Dims strides, Pairs padding, Dims lhs_dilation, Dims rhs_dilation,
                      const ConvDimensions& d, const ConvOptions& options) {
  if (!ReadyArrays(lhs.place, "convolution", {lhs, rhs})) return Op(lhs.builder(), nullptr);
  const std::optional<std::string> text = LabelText(d);
  if (!text)
    return Refuse(lhs, lhs.place,
                  "the dimension numbers of a convolution must be a permutation in each array");
  Builder& b = *lhs.builder();
  const std::vector<int64_t> kernel_sizes = Sizes(rhs, d.kernel_spatial);
  const std::optional<Window> window = MakeWindow(lhs, lhs.place,
                                                  {.sizes = kernel_sizes,
                                                   .strides = strides,
                                                   .padding = padding,
                                                   .base_dilation = lhs_dilation,
                                                   .window_dilation = rhs_dilation,
                                                   .reversal = options.window_reversal});
  if (!window) return Op(&b, nullptr);
  const DimLabels labels = {d.input_batch,
                            d.input_feature,
                            b.Keep(Dims(d.input_spatial)),
                            d.kernel_input_feature,
                            d.kernel_output_feature,
                            b.Keep(Dims(d.kernel_spatial)),
                            d.output_batch,
                            d.output_feature,
                            b.Keep(Dims(d.output_spatial)),
                            b.Keep(std::string_view(*text))};
  std::vector<AttrEntry> attributes;
  if (!window->empty()) attributes.push_back(Attr<attr::window>(*window));
  attributes.push_back(Attr<attr::dim_labels>(b.Keep(labels)));
  if (options.feature_group_count != 1)
    attributes.push_back(Attr<attr::feature_group_count>(options.feature_group_count));
  if (options.batch_group_count != 1)
    attributes.push_back(Attr<attr::batch_group_count>(options.batch_group_count));
  if (!options.precision.empty())
    attributes.push_back(Attr<attr::operand_precision>(KeepPrecision(lhs, options.precision)));
  return Emit(lhs.place, Opcode::kConvolution, {lhs, rhs}, attributes, {}, options.preferred_element_type);
}

Op Fft(Operand operand, FftType type, Dims lengths) {
  return Emit(operand.place, Opcode::kFft, {operand},
              {Attr<attr::fft_type>(type), Attr<attr::fft_length>(KeepDims(operand, lengths))});
}

Op Cholesky(Operand a, bool lower) {
  return Emit(a.place, Opcode::kCholesky, {a}, {Attr<attr::lower>(lower)});
}

Op TriangularSolve(Operand a, Op b, bool left_side, bool lower, bool unit_diagonal, TransposeA transpose_a) {
  return Emit(a.place, Opcode::kTriangularSolve, {a, b},
              {Attr<attr::left_side>(left_side), Attr<attr::lower>(lower),
               Attr<attr::unit_diagonal>(unit_diagonal), Attr<attr::transpose_a>(transpose_a)});
}

Op BatchNormTraining(Operand operand, Op scale, Op offset, double epsilon, int64_t feature_index) {
  return Emit(operand.place, Opcode::kBatchNormTraining, {operand, scale, offset},
              {Attr<attr::epsilon>(epsilon), Attr<attr::feature_index>(feature_index)});
}
Op BatchNormInference(Operand operand, Op scale, Op offset, Op mean, Op variance, double epsilon,
                      int64_t feature_index) {
  return Emit(operand.place, Opcode::kBatchNormInference, {operand, scale, offset, mean, variance},
              {Attr<attr::epsilon>(epsilon), Attr<attr::feature_index>(feature_index)});
}
Op BatchNormGrad(Operand operand, Op scale, Op mean, Op variance, Op grad_output, double epsilon,
                 int64_t feature_index) {
  return Emit(operand.place, Opcode::kBatchNormGrad, {operand, scale, mean, variance, grad_output},
              {Attr<attr::epsilon>(epsilon), Attr<attr::feature_index>(feature_index)});
}

}  // namespace hlo::build
