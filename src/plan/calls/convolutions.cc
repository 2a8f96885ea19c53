// Convolutions of cuDNN and oneDNN, with the operations that follow them.

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "plan/calls/fused_operations.h"
#include "plan/calls/replacement.h"
#include "reference/custom/call_options.h"
#include "reference/custom/convolution_graph.h"

namespace hlo::plan::calls {
namespace {

using reference::custom::Activation;
using reference::custom::GraphNode;
using reference::custom::Options;
using reference::custom::Wiring;

class ConvolutionExpander : public CallBuilder {
 public:
  using CallBuilder::CallBuilder;

  bool IsConvolution() const {
    const auto has_elements = [](const Shape& shape) {
      return IsFloat(shape.type()) && *shape.ElementCount() > 0;
    };
    return call().Has<attr::dim_labels>() && has_elements(results()[0]) && has_elements(shape_of(0)) &&
           has_elements(shape_of(1));
  }

  // True for convolutions of integers of up to 8 bits whose sums fit s32. The operations that follow them are
  // in f64.
  bool TakesIntegers() {
    const auto is_small = [](const Shape& shape) {
      return IsIntegral(shape.type()) && BitWidth(shape.type()) <= 8 && *shape.ElementCount() > 0;
    };
    const bool is_result = IsFloat(results()[0].type()) || is_small(results()[0]);
    if (!call().Has<attr::dim_labels>() || !is_result || results()[0].ElementCount() == 0 ||
        !is_small(shape_of(0)) || !is_small(shape_of(1)))
      return false;
    constexpr int64_t kMaxTerms = 1 << 15;
    const int64_t outputs = shape_of(1).dim(call().Get<attr::dim_labels>()->kernel_output_feature);
    if (*shape_of(1).ElementCount() / outputs > kMaxTerms) return false;
    set_type(ElementType::kF64);
    return true;
  }

  Op Forward() {
    Windows windows;
    for (const WindowDim& dim : call().Get<attr::window>())
      windows.Add(dim.stride, dim.padding_low, dim.padding_low + dim.padding_high, 1, dim.window_dilation,
                  dim.reversed);
    return Convolve(Raw(0), Raw(1), windows, CallLabels(), {.feature_group_count = GroupCount()});
  }

  // The gradient with respect to the input is a convolution of the output gradient, dilated by the strides,
  // with the reversed filter.
  Op BackwardInput() {
    const auto [input, filter, output] = CallLabels();
    const Window window = call().Get<attr::window>();
    Windows windows;
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& dim = window[d];
      const int64_t reach = (Size(call().operand(1)->shape(), filter.spatial, d) - 1) * dim.window_dilation;
      const int64_t outputs = (Size(call().operand(0)->shape(), output.spatial, d) - 1) * dim.stride;
      windows.Add(1, reach - dim.padding_low, Size(results()[0], input.spatial, d) - 1 + reach - outputs,
                  dim.stride, dim.window_dilation, !dim.reversed);
    }
    return Convolve(Raw(0), FilterByGroups(), windows, {output, filter.Swapped(), input},
                    {.feature_group_count = GroupCount()});
  }

  // The gradient with respect to the filter is a convolution of the input with the output gradient as filter,
  // contracting the batch.
  Op BackwardFilter() {
    const auto [input, filter, output] = CallLabels();
    const Window window = call().Get<attr::window>();
    Windows windows;
    std::vector<int64_t> reversed;
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& dim = window[d];
      if (dim.reversed) reversed.push_back(filter.spatial[d]);
      const int64_t reach = (Size(results()[0], filter.spatial, d) - 1) * dim.window_dilation;
      const int64_t outputs = (Size(call().operand(1)->shape(), output.spatial, d) - 1) * dim.stride;
      windows.Add(dim.window_dilation, dim.padding_low,
                  reach + outputs + 1 - Size(call().operand(0)->shape(), input.spatial, d), 1, dim.stride,
                  /*reversed=*/false);
    }
    const Op gradient =
        Convolve(Raw(0), Raw(1), windows, {input.Swapped(), output.Swapped(), filter.Swapped()},
                 {.batch_group_count = GroupCount()});
    return reversed.empty() ? gradient : build::Rev(gradient, reversed);
  }

 private:
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
    const DimLabels& l = *call().Get<attr::dim_labels>();
    return {{l.input_batch, l.input_feature, ToVector(l.input_spatial)},
            {l.kernel_output_feature, l.kernel_input_feature, ToVector(l.kernel_spatial)},
            {l.output_batch, l.output_feature, ToVector(l.output_spatial)}};
  }
  Op Convolve(Op lhs, Op rhs, const Windows& windows, const Labels& labels, build::ConvOptions options) {
    const auto& [input, filter, output] = labels;
    options.preferred_element_type = IsIntegral(lhs.type()) ? ElementType::kS32 : type();
    options.window_reversal = windows.reversal;
    const Op sum = Named(build::ConvGeneralDilated(lhs, rhs, windows.strides, windows.padding,
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
                                                   options));
    return As(sum, type());
  }
  int64_t GroupCount() const { return call().Get<attr::feature_group_count>(1); }

  // Returns the size of spatial dimension d.
  static int64_t Size(const Shape& array, IntList dims, size_t d) { return array.dim(dims[d]); }

  // Moves the groups of the filter from its output features to its input features.
  Op FilterByGroups() {
    const Op filter = Raw(1);
    if (GroupCount() == 1) return filter;
    const DimLabels& l = *call().Get<attr::dim_labels>();
    const Shape& shape = call().operand(1)->shape();
    std::vector<int64_t> split = ToVector(shape.dims()), joined = split, order;
    split[l.kernel_output_feature] /= GroupCount();
    joined[l.kernel_output_feature] /= GroupCount();
    joined[l.kernel_input_feature] *= GroupCount();
    split.insert(split.begin() + l.kernel_output_feature, GroupCount());
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (d == l.kernel_input_feature) order.push_back(l.kernel_output_feature);
      order.push_back(d < l.kernel_output_feature ? d : d + 1);
    }
    return build::Reshape(build::Transpose(build::Reshape(filter, split), order), joined);
  }
};

}  // namespace

Expansion ConvForward(const Instruction& call) {
  ConvolutionExpander b(call);
  return b.IsConvolution() || b.TakesIntegers() ? b.Finish({b.Forward()}) : std::nullopt;
}

Expansion ConvBackwardInput(const Instruction& call) {
  ConvolutionExpander b(call);
  return b.IsConvolution() ? b.Finish({b.BackwardInput()}) : std::nullopt;
}

Expansion ConvBackwardFilter(const Instruction& call) {
  ConvolutionExpander b(call);
  return b.IsConvolution() ? b.Finish({b.BackwardFilter()}) : std::nullopt;
}

Expansion ConvBiasActivation(const Instruction& call) {
  ConvolutionExpander b(call);
  const Options options = reference::custom::ConvOptions(call);
  const std::optional<Activation> activation = reference::custom::ConvActivationOf(options);
  if (!activation || !(b.IsConvolution() || b.TakesIntegers())) return std::nullopt;
  Op x = CallBuilder::Along(b.Wide(2), b.results()[0].dims(), call.Get<attr::dim_labels>()->output_feature) +
         CallBuilder::Scaled(b.Forward(), options.Number("conv_result_scale", 1));
  if (b.operand_count() > 3) x = x + CallBuilder::Scaled(b.Wide(3), options.Number("side_input_scale", 1));
  return b.Finish({Activated(*activation, x)});
}

Expansion OnednnConv(const Instruction& call) {
  ConvolutionExpander b(call);
  if (!b.IsConvolution()) return std::nullopt;
  return b.Finish({Fused(b, Options(call).Group("onednn_conv_config"),
                         call.Get<attr::dim_labels>()->output_feature, b.Forward())});
}

namespace {

Op Combined(const std::string& op, Op x, Op other) {
  if (op == "add") return x + other;
  return op == "scale" ? x * other : x / other;
}

}  // namespace

// Each operation of the graph is rounded to its type. The last array is the first result, followed by the
// maxima of `amax`.
Expansion ConvGraph(const Instruction& call) {
  ConvolutionExpander b(call);
  const std::string text = reference::custom::ConvOptions(call).Text("serialized_graph", "");
  const std::optional<std::vector<GraphNode>> nodes = reference::custom::ReadGraph(text);
  if (!nodes || !b.IsConvolution()) return std::nullopt;
  const int64_t feature = call.Get<attr::dim_labels>()->output_feature;
  std::vector<Wiring> wirings;
  reference::custom::Wire(call, *nodes, b.results()[0].dims(), feature, &wirings);
  std::vector<Op> values, results = {{}};
  const auto value_of = [&](const std::string& uid) {
    size_t at = 0;
    while (wirings[at].node->uid != uid) ++at;
    return values[at];
  };
  for (const Wiring& wiring : wirings) {
    Op x = wiring.input.empty() ? b.Forward() : value_of(wiring.input);
    values.push_back(x);
    if (wiring.node->op == "amax") {
      results.push_back(b.LargestAbsolute(x));
      continue;
    }
    if (wiring.node->op == "relu") {
      x = build::Max(x, build::FullLike(x, 0));
    } else if (wiring.node->TakesTwo()) {
      const Op other = wiring.operand >= 0
                           ? BroadcastTo(b.Wide(wiring.operand), b.results()[0].dims(), feature)
                           : value_of(wiring.other);
      x = Combined(wiring.node->op, x, other);
    }
    if (wiring.node->type != b.type()) x = CallBuilder::As(Saturated(x, wiring.node->type), b.type());
    values.back() = results[0] = x;
  }
  results[0] = Saturated(results[0], b.results()[0].type());
  size_t used = 1;  // Results after the maxima are scratch memory.
  while (used < results.size() && used < b.results().size() && b.results()[used].IsScalar() &&
         IsFloat(b.results()[used].type()))
    ++used;
  results.resize(used);
  return b.Finish(results);
}

}  // namespace hlo::plan::calls
