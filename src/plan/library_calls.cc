#include "plan/library_calls.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo_run/builder.h"
#include "ir/result_shapes.h"
#include "reference/custom/call_options.h"

namespace hlo::plan {
namespace {

using build::Op;
using reference::custom::Activation;
using reference::custom::Options;

std::vector<int64_t> List(const Index& numbers) { return {numbers.begin(), numbers.end()}; }
std::vector<int64_t> List(IntList numbers) { return {numbers.begin(), numbers.end()}; }

// No Op: the function is not said here.
Op Activated(const Activation& activation, Op x) {
  const auto where_negative = [&](Op y) { return build::Select(build::Lt(x, build::FullLike(x, 0)), y, x); };
  const auto number = [&](double value) { return build::ScalarLike(x, value); };
  switch (activation.kind) {
    case Activation::Kind::kNone:
      return x;
    case Activation::Kind::kRelu:
      return where_negative(build::FullLike(x, 0));
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

// What a call is rebuilt from. Operands are parameters.
class Rebuilder {
 public:
  explicit Rebuilder(const Instruction& call)
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
    if (!activation || which.d_scale >= 0 || epilogue.find("AUX") != std::string::npos || GivesMore() ||
        options.Number("alpha_imag", 0) != 0 || (!IsFloat(result_.type()) && !plain) ||
        (IsComplex(result_.type()) && (TypeOf(0) != result_.type() || TypeOf(1) != result_.type())))
      return std::nullopt;
    Op x = build::DotGeneral(operands_[0], operands_[1],
                             {.lhs_contracting = List(numbers.Ints("lhs_contracting_dimensions")),
                              .rhs_contracting = List(numbers.Ints("rhs_contracting_dimensions")),
                              .lhs_batch = List(numbers.Ints("lhs_batch_dimensions")),
                              .rhs_batch = List(numbers.Ints("rhs_batch_dimensions"))},
                             {.preferred_element_type = type_});
    x = Scaled(builder_.SetName(x, call_.name()), alpha);
    for (const int scale : {which.a_scale, which.b_scale}) {
      if (scale >= 0) x = x * build::Reshape(Operand(scale), {});
    }
    if (which.c >= 0) x = x + Scaled(Operand(which.c), options.Number("beta", 0));
    if (which.bias >= 0) x = x + Along(Operand(which.bias), result_.rank() - 1);
    return Finished(Activated(*activation, x));
  }

  std::optional<CheckedModule> ConvForward() {
    const std::optional<Op> x = Convolution();
    return x.has_value() ? Finished(*x) : std::nullopt;
  }

  std::optional<CheckedModule> ConvBiasActivation() {
    const Options options = reference::custom::ConvOptions(call_);
    const std::optional<Activation> activation = reference::custom::ConvActivationOf(options);
    const std::optional<Op> product = Convolution();
    if (!activation || !product) return std::nullopt;
    Op x = Scaled(*product, options.Number("conv_result_scale", 1)) +
           Along(Operand(2), call_.Get<attr::dim_labels>()->output_feature);
    if (operands_.size() > 3) x = x + Scaled(Operand(3), options.Number("side_input_scale", 1));
    return Finished(Activated(*activation, x));
  }

 private:
  ElementType TypeOf(int64_t operand) const { return call_.operand(operand)->shape().type(); }
  Op Operand(int number) const {
    const Op operand = operands_[number];
    return TypeOf(number) == type_ ? operand : build::ConvertElementType(operand, type_);
  }
  static Op Scaled(Op x, double factor) { return factor == 1 ? x : x * build::ScalarLike(x, factor); }
  Op Along(Op vector, int64_t dimension) const {
    return build::BroadcastInDim(vector, result_.dims(), {dimension});
  }

  // Results besides the first one and work space, which is bytes.
  bool GivesMore() const {
    const auto more = ResultShapes(call_).subspan(1);
    return std::any_of(more.begin(), more.end(), [](const Shape& shape) { return IsFloat(shape.type()); });
  }

  std::optional<Op> Convolution() {
    const DimLabels* labels = call_.Get<attr::dim_labels>();
    const Window window = call_.Get<attr::window>();
    if (labels == nullptr || !IsFloat(result_.type()) || !IsFloat(TypeOf(0)) || !IsFloat(TypeOf(1)))
      return std::nullopt;
    std::vector<int64_t> strides, dilations;
    std::vector<std::pair<int64_t, int64_t>> padding;
    build::ConvOptions options{.feature_group_count = call_.Get<attr::feature_group_count>(1),
                               .preferred_element_type = type_};
    for (const WindowDim& dim : window) {
      strides.push_back(dim.stride);
      dilations.push_back(dim.window_dilation);
      padding.emplace_back(dim.padding_low, dim.padding_high);
      options.window_reversal.push_back(dim.reversed);
    }
    const build::ConvDimensions dimensions{.input_batch = labels->input_batch,
                                           .input_feature = labels->input_feature,
                                           .input_spatial = List(labels->input_spatial),
                                           .kernel_output_feature = labels->kernel_output_feature,
                                           .kernel_input_feature = labels->kernel_input_feature,
                                           .kernel_spatial = List(labels->kernel_spatial),
                                           .output_batch = labels->output_batch,
                                           .output_feature = labels->output_feature,
                                           .output_spatial = List(labels->output_spatial)};
    const Op x = build::ConvGeneralDilated(operands_[0], operands_[1], strides, padding, {}, dilations,
                                           dimensions, options);
    return builder_.SetName(x, call_.name());
  }

  std::optional<CheckedModule> Finished(Op x) {
    if (!x.ok()) return std::nullopt;
    if (type_ != result_.type()) x = build::ConvertElementType(x, result_.type());
    absl::StatusOr<CheckedModule> module = builder_.Build(builder_.SetName(x, call_.name()));
    if (!module.ok() || !SameDimensions(module->module().entry()->root()->shape(), result_))
      return std::nullopt;
    return *std::move(module);
  }

  const Instruction& call_;
  const Shape& result_;
  build::Builder builder_;
  std::vector<Op> operands_;
  ElementType type_;
};

bool IsStatic(const Shape& shape) { return shape.IsArray() && !shape.HasDynamicDim(); }

}  // namespace

std::optional<CheckedModule> AsInstructions(const Instruction& call) {
  const std::string_view target = call.Get<attr::custom_call_target>();
  if (!target.starts_with("__cu")) return std::nullopt;
  const auto operands = call.operands();
  if (!std::all_of(operands.begin(), operands.end(),
                   [](const Instruction* o) { return IsStatic(o->shape()); }))
    return std::nullopt;
  if (target == "__cublas$gemm" || target == "__cublas$lt$matmul" || target == "__cublas$lt$matmul$f8")
    return Rebuilder(call).Gemm();
  if (target == "__cudnn$convForward") return Rebuilder(call).ConvForward();
  if (target == "__cudnn$convBiasActivationForward") return Rebuilder(call).ConvBiasActivation();
  return std::nullopt;
}

}  // namespace hlo::plan
