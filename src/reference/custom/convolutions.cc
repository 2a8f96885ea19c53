// cuDNN's convolutions (semantics 9.7): forward and the two gradients, with fused epilogues.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/custom/call_options.h"
#include "reference/custom/convolution_graph.h"
#include "reference/custom/functions.h"
#include "reference/custom/onednn.h"
#include "reference/custom/pointwise.h"
#include "reference/custom/signature.h"
#include "types/index.h"

namespace hlo::reference::custom {
namespace {

// The arrays of a forward convolution y = x * w, one of which is the result.
enum class Part { kX, kW, kY };

struct Terms {
  const Instruction& call;
  const DimLabels& labels;
  Window window;
  int64_t groups;
};

Terms TermsOf(const Instruction& call) {
  return {call, *call.Get<attr::dim_labels>(), call.Get<attr::window>(),
          call.Get<attr::feature_group_count>(1)};
}

std::string ConvolutionMismatch(const Terms& t, const Shape& x, const Shape& w, const Shape& y) {
  const auto spatial = static_cast<int64_t>(t.window.size());
  const auto named = [&](IntList dims) { return static_cast<int64_t>(dims.size()) == spatial; };
  bool fits = named(t.labels.input_spatial) && named(t.labels.kernel_spatial) &&
              named(t.labels.output_spatial) && x.rank() == spatial + 2 && w.rank() == spatial + 2 &&
              y.rank() == spatial + 2 && t.groups > 0;
  if (fits) {
    fits = x.dim(t.labels.input_batch) == y.dim(t.labels.output_batch) &&
           w.dim(t.labels.kernel_output_feature) == y.dim(t.labels.output_feature) &&
           w.dim(t.labels.kernel_output_feature) % t.groups == 0 &&
           w.dim(t.labels.kernel_input_feature) * t.groups == x.dim(t.labels.input_feature);
  }
  for (int64_t d = 0; fits && d < spatial; ++d) {
    fits = t.window[d].base_dilation == 1 && t.window[d].size == w.dim(t.labels.kernel_spatial[d]) &&
           WithinReach(t.window[d].padding_low) && t.window[d].stride > 0 &&
           t.window[d].window_dilation > 0 && t.window[d].stride < (int64_t{1} << 30) &&
           t.window[d].window_dilation < (int64_t{1} << 30);
  }
  if (fits) return "";
  return fmt::format("a convolution of {} by {} that gives {} does not fit its window and dim_labels",
                     ToString(x), ToString(w), ToString(y));
}

// Accumulates for all positions p of y and k of w for which q = p * stride + k * dilation - padding is inside
// x
//   y[n, o, p] += x[n, i, q] * w[o, i, k],
// or the corresponding gradient if `result` is x or w.
absl::Status Accumulate(const Terms& t, const Literal& x, const Literal& w, const Literal& y, Part result,
                        double* out) {
  const DimLabels& l = t.labels;
  const Index xs = RowMajorStrides(x.dims()), ws = RowMajorStrides(w.dims()), ys = RowMajorStrides(y.dims());
  const double *xd = x.span<double>().data(), *wd = w.span<double>().data(), *yd = y.span<double>().data();
  const int64_t inputs = w.dim(l.kernel_input_feature);
  const int64_t per_group = w.dim(l.kernel_output_feature) / t.groups;
  const int64_t products = x.dim(l.input_batch) * w.dim(l.kernel_output_feature) * inputs;
  DeadlineChecker deadline;
  for (const Index& p : EachIndex(Pick(y.dims(), l.output_spatial))) {
    for (const Index& k : EachIndex(Pick(w.dims(), l.kernel_spatial))) {
      HLO_RETURN_IF_ERROR(deadline.Spend(products + 16));
      Index q = p;
      Index place = k;
      for (int64_t d = 0; d < p.rank(); ++d) {
        q[d] = p[d] * t.window[d].stride + k[d] * t.window[d].window_dilation - t.window[d].padding_low;
        if (t.window[d].reversed) place[d] = t.window[d].size - 1 - k[d];
      }
      if (!InBounds(q, Pick(x.dims(), l.input_spatial))) continue;
      const int64_t x_at = Offset(q, Pick(xs, l.input_spatial)), y_at = Offset(p, Pick(ys, l.output_spatial));
      const int64_t w_at = Offset(place, Pick(ws, l.kernel_spatial));
      for (int64_t n = 0; n < x.dim(l.input_batch); ++n) {
        for (int64_t o = 0; o < w.dim(l.kernel_output_feature); ++o) {
          for (int64_t i = 0; i < inputs; ++i) {
            const int64_t feature = o / per_group * inputs + i;
            const int64_t xi = x_at + n * xs[l.input_batch] + feature * xs[l.input_feature];
            const int64_t wi = w_at + o * ws[l.kernel_output_feature] + i * ws[l.kernel_input_feature];
            const int64_t yi = y_at + n * ys[l.output_batch] + o * ys[l.output_feature];
            if (result == Part::kY)
              out[yi] += xd[xi] * wd[wi];
            else if (result == Part::kX)
              out[xi] += yd[yi] * wd[wi];
            else
              out[wi] += xd[xi] * yd[yi];
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

const Shape& Result(const Instruction& call) { return ResultShapes(call)[0]; }
const Shape& Given(const Instruction& call, int64_t i) { return call.operand(i)->shape(); }

// Returns the requested result in f64.
absl::StatusOr<Literal> Convolved(OpContext& context, Part result) {
  const Terms terms = TermsOf(context.instruction);
  HLO_ASSIGN_OR_RETURN(const Literal first, Widened(context.operands[0], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(const Literal second, Widened(context.operands[1], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(
      Literal sum, Literal::CreateZeros(Shape::Array(ElementType::kF64, Result(context.instruction).dims())));
  double* out = sum.mutable_span<double>().data();
  switch (result) {
    case Part::kY:
      HLO_RETURN_IF_ERROR(Accumulate(terms, first, second, sum, result, out));
      break;
    case Part::kX:
      HLO_RETURN_IF_ERROR(Accumulate(terms, sum, second, first, result, out));
      break;
    case Part::kW:
      HLO_RETURN_IF_ERROR(Accumulate(terms, first, sum, second, result, out));
      break;
  }
  return sum;
}

// Returns (result, workspace), or the result alone.
absl::StatusOr<Literal> FinishedConvolution(const OpContext& context, const Literal& sum) {
  HLO_ASSIGN_OR_RETURN(Literal rounded, Rounded(sum, Result(context.instruction)));
  return WithZeroedRest(context.shape(), std::move(rounded));
}

absl::StatusOr<Literal> ConvolutionOf(OpContext& context, Part result) {
  HLO_ASSIGN_OR_RETURN(const Literal sum, Convolved(context, result));
  return FinishedConvolution(context, sum);
}

std::string MissingLabels(const Instruction& call) {
  return call.Has<attr::dim_labels>() ? "" : "a convolution needs dim_labels and window";
}

}  // namespace

Options ConvOptions(const Instruction& call) { return Options(call).Group("cudnn_conv_backend_config"); }

std::optional<Activation> ConvActivationOf(const Options& options) {
  std::string mode = options.Text("activation_mode", "");
  if (mode.empty()) mode = fmt::format("{}", options.Int("activation_mode", 0));
  return FindCudnnMode(mode, options.Number("leakyrelu_alpha", options.Number("reluX_max", 0)));
}

std::string ConvForwardMismatch(const Instruction& call) {
  const std::string missing = MissingLabels(call);
  return missing.empty() ? ConvolutionMismatch(TermsOf(call), Given(call, 0), Given(call, 1), Result(call))
                         : missing;
}
std::string ConvBackwardInputMismatch(const Instruction& call) {
  const std::string missing = MissingLabels(call);
  return missing.empty() ? ConvolutionMismatch(TermsOf(call), Result(call), Given(call, 1), Given(call, 0))
                         : missing;
}
std::string ConvBackwardFilterMismatch(const Instruction& call) {
  const std::string missing = MissingLabels(call);
  return missing.empty() ? ConvolutionMismatch(TermsOf(call), Given(call, 0), Result(call), Given(call, 1))
                         : missing;
}

absl::StatusOr<Literal> ConvForward(OpContext& context) { return ConvolutionOf(context, Part::kY); }
absl::StatusOr<Literal> ConvBackwardInput(OpContext& context) { return ConvolutionOf(context, Part::kX); }
absl::StatusOr<Literal> ConvBackwardFilter(OpContext& context) { return ConvolutionOf(context, Part::kW); }

std::string ConvBiasActivationMismatch(const Instruction& call) {
  std::string misfit = ConvForwardMismatch(call);
  if (!misfit.empty()) return misfit;
  const Shape &bias = Given(call, 2), &y = Result(call);
  if (bias.rank() != 1 || bias.dim(0) != y.dim(call.Get<attr::dim_labels>()->output_feature))
    return fmt::format("the bias of {} is {}", ToString(y), ToString(bias));
  if (call.operand_count() > 3 && Given(call, 3).dims() != y.dims())
    return fmt::format("the side input of {} is {}", ToString(y), ToString(Given(call, 3)));
  return ConvActivationOf(ConvOptions(call)) ? "" : "its activation_mode is not known";
}

// activation(conv_result_scale * conv + side_input_scale * side + bias)
absl::StatusOr<Literal> ConvBiasActivation(OpContext& context) {
  const Options options = ConvOptions(context.instruction);
  const double scale = options.Number("conv_result_scale", 1),
               side_scale = options.Number("side_input_scale", 1);
  const Activation activation = *ConvActivationOf(options);
  HLO_ASSIGN_OR_RETURN(Literal sum, Convolved(context, Part::kY));
  HLO_ASSIGN_OR_RETURN(const Literal bias, Widened(context.operands[2], ElementType::kF64));
  Literal side;
  if (context.operands.size() > 3) {
    HLO_ASSIGN_OR_RETURN(side, Widened(context.operands[3], ElementType::kF64));
  }
  const int64_t feature = context.instruction.Get<attr::dim_labels>()->output_feature;
  int64_t at = 0;
  for (const Index& i : EachIndex(sum.dims())) {
    double& x = sum.mutable_span<double>()[at];
    x = scale * x + bias.span<double>()[i[feature]];
    if (side.shape().IsValid()) x += side_scale * side.span<double>()[at];
    x = Activate(activation, x);
    ++at;
  }
  return FinishedConvolution(context, sum);
}

std::string OnednnConvMismatch(const Instruction& call) {
  if (!call.Has<attr::dim_labels>())
    return "it has no dim_labels and window; how the configuration of oneDNN says these is not documented";
  std::string misfit = ConvForwardMismatch(call);
  if (!misfit.empty()) return misfit;
  return FusedMismatch(call, Options(call).Group("onednn_conv_config"), Result(call).dims(),
                       call.Get<attr::dim_labels>()->output_feature);
}

absl::StatusOr<Literal> OnednnConv(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal sum, Convolved(context, Part::kY));
  HLO_RETURN_IF_ERROR(ApplyFused(context, Options(context.instruction).Group("onednn_conv_config"),
                                 context.instruction.Get<attr::dim_labels>()->output_feature, sum));
  return FinishedConvolution(context, sum);
}

namespace {

std::string GraphText(const Instruction& call) { return ConvOptions(call).Text("serialized_graph", ""); }

double Combine(const std::string& op, double x, double other) {
  if (op == "add") return x + other;
  return op == "scale" ? x * other : x / other;
}

}  // namespace

std::string ConvGraphMismatch(const Instruction& call) {
  std::string misfit = ConvForwardMismatch(call);
  if (!misfit.empty()) return misfit;
  const std::optional<std::vector<GraphNode>> nodes = ReadGraph(GraphText(call));
  if (!nodes) return "its serialized_graph is not a list such as `1:[f32]conv();2:[f32]relu(1);`";
  std::vector<Wiring> wirings;
  return Wire(call, *nodes, Result(call).dims(), call.Get<attr::dim_labels>()->output_feature, &wirings);
}

// Applies the operations of the graph to the convolution and rounds each to its type. The last array is the
// first result, followed by the maxima of `amax`.
absl::StatusOr<Literal> ConvGraph(OpContext& context) {
  const std::vector<GraphNode> nodes = *ReadGraph(GraphText(context.instruction));
  std::vector<Wiring> wirings;
  const int64_t feature = context.instruction.Get<attr::dim_labels>()->output_feature;
  Wire(context.instruction, nodes, Result(context.instruction).dims(), feature, &wirings);
  std::vector<Literal> values, maxima;
  const auto value_of = [&](const std::string& uid) -> const Literal& {
    size_t at = 0;
    while (wirings[at].node->uid != uid) ++at;
    return values[at];
  };
  Literal last;
  for (const Wiring& wiring : wirings) {
    Literal value;
    if (wiring.input.empty()) {
      HLO_ASSIGN_OR_RETURN(value, Convolved(context, Part::kY));
    } else {
      value = value_of(wiring.input);
      HLO_RETURN_IF_ERROR(value.MakeUnique());
    }
    const absl::Span<double> x = value.mutable_span<double>();
    if (wiring.node->op == "amax") {
      HLO_ASSIGN_OR_RETURN(Literal largest, Literal::CreateZeros(Shape::Scalar(ElementType::kF64)));
      for (const double v : x)
        largest.mutable_span<double>()[0] = std::max(largest.span<double>()[0], std::abs(v));
      maxima.push_back(std::move(largest));
      values.push_back(std::move(value));
      continue;
    }
    if (wiring.node->op == "relu") {
      for (double& v : x) v = v < 0 ? 0 : v;
    } else if (wiring.node->TakesTwo()) {
      Literal other;
      if (wiring.operand >= 0) {
        HLO_ASSIGN_OR_RETURN(other, BroadcastTo(context.operands[wiring.operand], value.dims(), feature));
      } else {
        other = value_of(wiring.other);
      }
      for (size_t i = 0; i < x.size(); ++i) x[i] = Combine(wiring.node->op, x[i], other.span<double>()[i]);
    }
    HLO_ASSIGN_OR_RETURN(value, Saturated(value, Shape::Array(wiring.node->type, value.dims())));
    HLO_ASSIGN_OR_RETURN(value, Widened(value, ElementType::kF64));
    last = value;
    values.push_back(std::move(value));
  }
  HLO_ASSIGN_OR_RETURN(Literal y, Saturated(last, Result(context.instruction)));
  if (!context.shape().IsTuple()) return y;
  std::vector<Literal> results = {std::move(y)};
  for (const Shape& shape : context.shape().elements().subspan(1)) {
    const size_t number = results.size() - 1;
    const bool is_maximum = number < maxima.size() && shape.IsScalar() && IsFloat(shape.type());
    HLO_ASSIGN_OR_RETURN(Literal result,
                         is_maximum ? Rounded(maxima[number], shape) : Literal::CreateZeros(shape));
    results.push_back(std::move(result));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace hlo::reference::custom
