#include "plan/rewrite/library_calls.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo_run/builder.h"
#include "ir/result_shapes.h"
#include "plan/rewrite/replacement.h"
#include "reference/custom/call_options.h"

namespace hlo::plan {
namespace {

using build::Op;
using reference::custom::Activation;
using reference::custom::Options;

// Returns an invalid Op for unsupported activations.
Op Activated(const Activation& activation, Op x) {
  const auto where_negative = [&](Op y) { return build::Select(build::Lt(x, build::FullLike(x, 0)), y, x); };
  const auto number = [&](double value) { return build::ScalarLike(x, value); };
  switch (activation.kind) {
    case Activation::Kind::kNone:
      return x;
    case Activation::Kind::kRelu:
      return build::Max(x, build::FullLike(x, 0));
    case Activation::Kind::kLeakyRelu:
      return where_negative(number(activation.alpha) * x);
    case Activation::Kind::kElu:
      return where_negative(number(activation.alpha) * build::Expm1(x));
    case Activation::Kind::kGeluTanh: {
      const Op inner = number(std::sqrt(2 / std::numbers::pi)) * (x + number(0.044715) * x * x * x);
      return number(0.5) * x * (number(1) + build::Tanh(inner));
    }
    case Activation::Kind::kSilu:
      return x / (number(1) + build::Exp(-x));
    case Activation::Kind::kSigmoid:
      return number(1) / (number(1) + build::Exp(-x));
    case Activation::Kind::kTanh:
      return build::Tanh(x);
    default:
      return {};
  }
}

// Builds the replacement of a library call, whose operands are the parameters.
class LibraryCallExpander {
 public:
  explicit LibraryCallExpander(const Instruction& call)
      : call_(call), result_(ResultShapes(call)[0]), builder_(call.name()) {
    bool wide = result_.type() == ElementType::kF64;
    for (const Instruction* operand : call.operands()) {
      const auto number = static_cast<int64_t>(operands_.size());
      operands_.push_back(builder_.Parameter(number, operand->shape().WithoutLayouts()));
      wide |= operand->shape().type() == ElementType::kF64;
    }
    type_ = IsFloat(result_.type()) ? wide ? ElementType::kF64 : ElementType::kF32 : result_.type();
  }

  std::optional<CheckedModule> Gemm() {
    const Options options = reference::custom::GemmOptions(call_),
                  numbers = options.Group("dot_dimension_numbers");
    const reference::custom::GemmOperands which = reference::custom::GemmOperandsOf(call_);
    const std::string epilogue = options.Text("epilogue", "DEFAULT");
    const std::optional<Activation> activation = reference::custom::FindEpilogue(epilogue);
    const double alpha = options.Number("alpha_real", 1);
    const bool plain = alpha == 1 && which.count == 2 && epilogue == "DEFAULT";
    if (!activation || which.d_scale >= 0 || epilogue.find("AUX") != std::string::npos || HasMoreResults() ||
        options.Number("alpha_imag", 0) != 0 || (IsIntegral(result_.type()) && !plain) ||
        (IsComplex(result_.type()) && (TypeOf(0) != result_.type() || TypeOf(1) != result_.type())))
      return std::nullopt;
    Op x = build::DotGeneral(operands_[0], operands_[1],
                             {.lhs_contracting = ToVector(numbers.Ints("lhs_contracting_dimensions")),
                              .rhs_contracting = ToVector(numbers.Ints("rhs_contracting_dimensions")),
                              .lhs_batch = ToVector(numbers.Ints("lhs_batch_dimensions")),
                              .rhs_batch = ToVector(numbers.Ints("rhs_batch_dimensions"))},
                             {.preferred_element_type = type_});
    x = Scaled(builder_.SetName(x, call_.name()), alpha);
    for (const int scale : {which.a_scale, which.b_scale}) {
      if (scale >= 0) x = x * build::Reshape(Operand(scale), {});
    }
    if (which.c >= 0) x = x + Scaled(Operand(which.c), options.Number("beta", 0));
    // The bias is the left operand, so that its conversion does not come between the product and the
    // operations that follow it.
    if (which.bias >= 0) x = BroadcastAlong(Operand(which.bias), result_.rank() - 1) + x;
    return Finish(Activated(*activation, x));
  }

  std::optional<CheckedModule> ConvForward() {
    if (!IsConvolution()) return std::nullopt;
    return Finish(Forward());
  }

  std::optional<CheckedModule> ConvBackwardInput() {
    if (!IsConvolution()) return std::nullopt;
    return Finish(BackwardInput());
  }

  std::optional<CheckedModule> ConvBackwardFilter() {
    if (!IsConvolution()) return std::nullopt;
    return Finish(BackwardFilter());
  }

  std::optional<CheckedModule> ConvBiasActivation() {
    const Options options = reference::custom::ConvOptions(call_);
    const std::optional<Activation> activation = reference::custom::ConvActivationOf(options);
    if (!activation || !IsConvolution()) return std::nullopt;
    Op x = BroadcastAlong(Operand(2), call_.Get<attr::dim_labels>()->output_feature) +
           Scaled(Forward(), options.Number("conv_result_scale", 1));
    if (operands_.size() > 3) x = x + Scaled(Operand(3), options.Number("side_input_scale", 1));
    return Finish(Activated(*activation, x));
  }

 private:
  ElementType TypeOf(int64_t operand) const { return call_.operand(operand)->shape().type(); }
  Op Operand(int number) const {
    const Op operand = operands_[number];
    return TypeOf(number) == type_ ? operand : build::ConvertElementType(operand, type_);
  }
  static Op Scaled(Op x, double factor) { return factor == 1 ? x : x * build::ScalarLike(x, factor); }
  Op BroadcastAlong(Op vector, int64_t dimension) const {
    return build::BroadcastInDim(vector, result_.dims(), {dimension});
  }

  // True if there are results other than the first one and the scratch memory, which is an array of bytes.
  bool HasMoreResults() const {
    const auto more = ResultShapes(call_).subspan(1);
    return std::any_of(more.begin(), more.end(), [](const Shape& shape) { return IsFloat(shape.type()); });
  }

  bool IsConvolution() const {
    const auto has_elements = [](const Shape& shape) {
      return IsFloat(shape.type()) && *shape.ElementCount() > 0;
    };
    return call_.Has<attr::dim_labels>() && has_elements(result_) &&
           has_elements(call_.operand(0)->shape()) && has_elements(call_.operand(1)->shape());
  }

  // The window parameters of a convolution for each spatial dimension.
  struct Windows {
    std::vector<int64_t> strides, lhs_dilation, rhs_dilation;
    std::vector<std::pair<int64_t, int64_t>> padding;
    std::vector<bool> reversal;

    // `sum` is the padding at both ends together.
    void Add(int64_t stride, int64_t low, int64_t sum, int64_t of_lhs, int64_t of_rhs, bool reversed) {
      strides.push_back(stride);
      padding.emplace_back(low, sum - low);
      lhs_dilation.push_back(of_lhs);
      rhs_dilation.push_back(of_rhs);
      reversal.push_back(reversed);
    }
  };
  // The roles of the dimensions of an array in the convolution. The outer dimension of a kernel is its output
  // feature.
  struct DimRoles {
    int64_t outer, feature;
    std::vector<int64_t> spatial;
    DimRoles Swapped() const { return {feature, outer, spatial}; }
  };
  struct Labels {
    DimRoles input, filter, output;
  };
  Labels CallLabels() const {
    const DimLabels& l = *call_.Get<attr::dim_labels>();
    return {{l.input_batch, l.input_feature, ToVector(l.input_spatial)},
            {l.kernel_output_feature, l.kernel_input_feature, ToVector(l.kernel_spatial)},
            {l.output_batch, l.output_feature, ToVector(l.output_spatial)}};
  }
  Op Convolve(Op lhs, Op rhs, const Windows& windows, const Labels& labels, build::ConvOptions options) {
    const auto& [input, filter, output] = labels;
    options.preferred_element_type = type_;
    options.window_reversal = windows.reversal;
    return builder_.SetName(build::ConvGeneralDilated(lhs, rhs, windows.strides, windows.padding,
                                                      windows.lhs_dilation, windows.rhs_dilation,
                                                      {.input_batch = input.outer,
                                                       .input_feature = input.feature,
                                                       .input_spatial = input.spatial,
                                                       .kernel_output_feature = filter.outer,
                                                       .kernel_input_feature = filter.feature,
                                                       .kernel_spatial = filter.spatial,
                                                       .output_batch = output.outer,
                                                       .output_feature = output.feature,
                                                       .output_spatial = output.spatial},
                                                      options),
                            call_.name());
  }
  int64_t LoopFusion() const { return call_.Get<attr::feature_group_count>(1); }

  Op Forward() {
    Windows windows;
    for (const WindowDim& dim : call_.Get<attr::window>())
      windows.Add(dim.stride, dim.padding_low, dim.padding_low + dim.padding_high, 1, dim.window_dilation,
                  dim.reversed);
    return Convolve(operands_[0], operands_[1], windows, CallLabels(), {.feature_group_count = LoopFusion()});
  }

  // Returns the size of spatial dimension d.
  static int64_t Size(const Shape& array, IntList dims, size_t d) { return array.dim(dims[d]); }

  // The gradient with respect to the input is a convolution of the output gradient, dilated by the strides,
  // with the reversed filter.
  Op BackwardInput() {
    const auto [input, filter, output] = CallLabels();
    const Window window = call_.Get<attr::window>();
    Windows windows;
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& dim = window[d];
      const int64_t reach = (Size(call_.operand(1)->shape(), filter.spatial, d) - 1) * dim.window_dilation;
      const int64_t outputs = (Size(call_.operand(0)->shape(), output.spatial, d) - 1) * dim.stride;
      windows.Add(1, reach - dim.padding_low, Size(result_, input.spatial, d) - 1 + reach - outputs,
                  dim.stride, dim.window_dilation, !dim.reversed);
    }
    return Convolve(operands_[0], FilterByGroups(), windows, {output, filter.Swapped(), input},
                    {.feature_group_count = LoopFusion()});
  }

  // Moves the groups of the filter from its output features to its input features.
  Op FilterByGroups() {
    const Op filter = operands_[1];
    if (LoopFusion() == 1) return filter;
    const DimLabels& l = *call_.Get<attr::dim_labels>();
    const Shape& shape = call_.operand(1)->shape();
    std::vector<int64_t> split = ToVector(shape.dims()), joined = split, order;
    split[l.kernel_output_feature] /= LoopFusion();
    joined[l.kernel_output_feature] /= LoopFusion();
    joined[l.kernel_input_feature] *= LoopFusion();
    split.insert(split.begin() + l.kernel_output_feature, LoopFusion());
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (d == l.kernel_input_feature) order.push_back(l.kernel_output_feature);
      order.push_back(d < l.kernel_output_feature ? d : d + 1);
    }
    return build::Reshape(build::Transpose(build::Reshape(filter, split), order), joined);
  }

  // The gradient with respect to the filter is a convolution of the input with the output gradient as filter,
  // contracting the batch.
  Op BackwardFilter() {
    const auto [input, filter, output] = CallLabels();
    const Window window = call_.Get<attr::window>();
    Windows windows;
    std::vector<int64_t> reversed;
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& dim = window[d];
      if (dim.reversed) reversed.push_back(filter.spatial[d]);
      const int64_t reach = (Size(result_, filter.spatial, d) - 1) * dim.window_dilation;
      const int64_t outputs = (Size(call_.operand(1)->shape(), output.spatial, d) - 1) * dim.stride;
      windows.Add(dim.window_dilation, dim.padding_low,
                  reach + outputs + 1 - Size(call_.operand(0)->shape(), input.spatial, d), 1, dim.stride,
                  false);
    }
    const Op gradient =
        Convolve(operands_[0], operands_[1], windows, {input.Swapped(), output.Swapped(), filter.Swapped()},
                 {.batch_group_count = LoopFusion()});
    return reversed.empty() ? gradient : build::Rev(gradient, reversed);
  }

  std::optional<CheckedModule> Finish(Op x) {
    if (!x.ok()) return std::nullopt;
    if (type_ != result_.type()) x = build::ConvertElementType(x, result_.type());
    return BuildReplacement(builder_, x, call_);
  }

  const Instruction& call_;
  const Shape& result_;
  build::Builder builder_;
  std::vector<Op> operands_;
  ElementType type_;
};

bool IsStatic(const Shape& shape) { return shape.IsArray() && !shape.HasDynamicDim(); }

}  // namespace

std::optional<CheckedModule> ExpandLibraryCall(const Instruction& call) {
  const std::string_view target = call.Get<attr::custom_call_target>();
  if (!target.starts_with("__cu")) return std::nullopt;
  const auto operands = call.operands();
  if (!std::all_of(operands.begin(), operands.end(),
                   [](const Instruction* o) { return IsStatic(o->shape()); }))
    return std::nullopt;
  if (target == "__cublas$gemm" || target == "__cublas$lt$matmul" || target == "__cublas$lt$matmul$f8")
    return LibraryCallExpander(call).Gemm();
  if (target == "__cudnn$convForward") return LibraryCallExpander(call).ConvForward();
  if (target == "__cudnn$convBackwardInput") return LibraryCallExpander(call).ConvBackwardInput();
  if (target == "__cudnn$convBackwardFilter") return LibraryCallExpander(call).ConvBackwardFilter();
  if (target == "__cudnn$convBiasActivationForward") return LibraryCallExpander(call).ConvBiasActivation();
  return std::nullopt;
}

}  // namespace hlo::plan
