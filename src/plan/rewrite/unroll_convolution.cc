#include "plan/rewrite/unroll_convolution.h"

#include <initializer_list>
#include <limits>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo_run/builder.h"
#include "ir/element_types.h"
#include "plan/calls/replacement.h"
#include "plan/codegen/operations.h"
#include "plan/rewrite/window_padding.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

// The features of a result: sums over all features of the input, or of one feature each.
enum class Features : uint8_t { kSummed, kDepthwise };

bool HasAllLabels(const DimLabels& labels) {
  return absl::c_all_of(
      std::initializer_list<int64_t>{labels.input_batch, labels.input_feature, labels.kernel_input_feature,
                                     labels.kernel_output_feature, labels.output_batch,
                                     labels.output_feature},
      [](int64_t dim) { return dim >= 0; });
}

bool MultipliesOneType(const Instruction& convolution) {
  const ElementType type = convolution.shape().type();
  const bool is_number = IsHalf(type) || type == ElementType::kF32 || type == ElementType::kF64 ||
                         (IsIntegral(type) && BitWidth(type) >= 8);
  return is_number && convolution.operand_count() == 2 && convolution.operand(0)->shape().type() == type &&
         convolution.operand(1)->shape().type() == type && !convolution.Has<attr::dot_algorithm>() &&
         !convolution.Has<attr::sparsity_config>() && !convolution.Has<attr::block_scaling_config>() &&
         convolution.Get<attr::batch_group_count>(1) == 1;
}

std::optional<Features> FeaturesOf(const Instruction& convolution, const DimLabels& labels) {
  const int64_t groups = convolution.Get<attr::feature_group_count>(1),
                inputs = convolution.operand(0)->shape().dim(labels.input_feature),
                outputs = convolution.shape().dim(labels.output_feature);
  if (groups == 1) return Features::kSummed;
  if (groups == inputs && groups == outputs) return Features::kDepthwise;
  return std::nullopt;
}

// True if the kernels for convolutions take longer than a loop over the terms.
bool HasFewTerms(const Instruction& convolution, Features features, const DimLabels& labels) {
  constexpr int64_t kFew = 16, kMaxTerms = 27, kMaxTermsOfSeveral = 18, kMaxProducts = 2304,
                    kMaxResults = 4096;
  const int64_t outputs = convolution.shape().dim(labels.output_feature),
                terms = *convolution.operand(1)->shape().ElementCount() / outputs,
                results = *convolution.shape().ElementCount();
  if (features == Features::kSummed && outputs > 1)
    return terms <= kMaxTermsOfSeveral && results * terms <= kMaxProducts;
  const bool may_be_large = features == Features::kSummed && terms <= kFew &&
                            convolution.operand(0)->shape().dim(labels.input_feature) == 1;
  return terms <= kMaxTerms &&
         results <= (may_be_large ? int64_t{std::numeric_limits<int32_t>::max()} : kMaxResults);
}

class ConvolutionUnroller {
 public:
  ConvolutionUnroller(const Instruction& convolution, const DimLabels& labels, Features features, Op input,
                      Op kernel)
      : labels_(labels),
        window_(convolution.Get<attr::window>()),
        features_(features),
        result_(convolution.shape()),
        input_(input),
        kernel_(kernel) {}

  // Pads the input by zeros, so that all windows are within it. Returns false if the padding needs masks, and
  // these take longer than a kernel.
  bool Pad(bool kernel_is_finite) {
    constexpr int64_t kMaxMasked = 4096;
    const std::vector<PaddingDim> padding = PaddingOf(window_, labels_.input_spatial, input_.rank());
    sizes_.assign(input_.dims().begin(), input_.dims().end());
    masks_ = !padding.empty() && !kernel_is_finite && IsFloat(input_.type());
    if (!padding.empty()) input_ = build::Pad(input_, build::ScalarLike(input_, 0), padding);
    return !masks_ || *result_.ElementCount() <= kMaxMasked;
  }

  // Returns the sums of the products, in the order of the kernel's elements and then of features.
  Op Sum() const {
    Index taps;
    for (const WindowDim& w : window_) taps.push_back(w.size);
    const int64_t inputs = features_ == Features::kSummed ? input_.dims()[labels_.input_feature] : 1;
    // A sum of zeros is +0, also if all of them are -0.
    Op sum = IsFloat(input_.type()) ? build::ScalarLike(input_, 0) : Op();
    for (const Index& tap : EachIndex(taps)) {
      const Op mask = masks_ ? MaskOf(tap) : Op();
      for (int64_t feature = 0; feature < inputs; ++feature) {
        Op product = InputOf(tap, feature) * KernelOf(tap, feature);
        if (mask.ok()) product = build::Select(mask, product, build::FullLike(product, 0));
        sum = sum.ok() ? sum + product : product;
      }
    }
    return sum;
  }

 private:
  // The element of the padded base that the first window has at a tap.
  int64_t FirstOf(size_t s, int64_t tap) const {
    const WindowDim& w = window_[s];
    return (w.reversed ? w.size - 1 - tap : tap) * w.window_dilation;
  }

  // Returns the elements of the input that a tap multiplies, as an array of the result's shape.
  Op InputOf(const Index& tap, int64_t feature) const {
    const build::Dims sizes = input_.dims();
    std::vector<int64_t> starts(sizes.size(), 0), limits(sizes.begin(), sizes.end()),
        strides(sizes.size(), 1);
    for (size_t s = 0; s < window_.size(); ++s) {
      const auto d = static_cast<size_t>(labels_.input_spatial[s]);
      starts[d] = FirstOf(s, tap[s]);
      strides[d] = window_[s].stride;
      limits[d] = starts[d] + (result_.dim(labels_.output_spatial[s]) - 1) * strides[d] + 1;
    }
    if (features_ == Features::kSummed) {
      starts[labels_.input_feature] = feature;
      limits[labels_.input_feature] = feature + 1;
    }
    Op slice = build::Slice(input_, starts, limits, strides);
    // The result's dimensions, in the order of the input's.
    std::vector<int64_t> to(sizes.size());
    to[labels_.input_batch] = labels_.output_batch;
    to[labels_.input_feature] = labels_.output_feature;
    for (size_t s = 0; s < window_.size(); ++s) to[labels_.input_spatial[s]] = labels_.output_spatial[s];
    if (features_ == Features::kSummed) {
      std::vector<int64_t> dims(slice.dims().begin(), slice.dims().end());
      dims.erase(dims.begin() + labels_.input_feature);
      to.erase(to.begin() + labels_.input_feature);
      slice = build::Reshape(slice, dims);
    }
    std::vector<int64_t> order(to.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
    absl::c_sort(order, [&](int64_t a, int64_t b) { return to[a] < to[b]; });
    if (!absl::c_is_sorted(to)) slice = build::Transpose(slice, order);
    absl::c_sort(to);
    return build::BroadcastInDim(slice, result_.dims(), to);
  }

  // Returns the elements of the kernel at a tap, as an array of the result's shape.
  Op KernelOf(const Index& tap, int64_t feature) const {
    std::vector<int64_t> starts(static_cast<size_t>(kernel_.rank()), 0),
        limits(kernel_.dims().begin(), kernel_.dims().end());
    for (size_t s = 0; s < window_.size(); ++s) {
      starts[labels_.kernel_spatial[s]] = tap[s];
      limits[labels_.kernel_spatial[s]] = tap[s] + 1;
    }
    starts[labels_.kernel_input_feature] = feature;
    limits[labels_.kernel_input_feature] = feature + 1;
    const Op slice = build::Slice(kernel_, starts, limits);
    const int64_t outputs = result_.dim(labels_.output_feature);
    if (outputs == 1) return build::BroadcastInDim(build::Reshape(slice, {}), result_.dims(), {});
    return build::BroadcastInDim(build::Reshape(slice, {outputs}), result_.dims(), {labels_.output_feature});
  }

  // Returns an array of the result's shape that is true where a tap multiplies an element of the input, not
  // padding: the kernel may hold an infinity.
  Op MaskOf(const Index& tap) const {
    Op mask;
    for (size_t s = 0; s < window_.size(); ++s) {
      const Op along = MaskOfElement(*input_.builder(), result_.dims(), labels_.output_spatial[s], window_[s],
                                     sizes_[labels_.input_spatial[s]], FirstOf(s, tap[s]));
      mask = BothMasks(mask, along);
    }
    return mask;
  }

  const DimLabels& labels_;
  const Window window_;
  const Features features_;
  const Shape& result_;
  Op input_, kernel_;
  std::vector<int64_t> sizes_;  // Of the input.
  bool masks_ = false;
};

}  // namespace

std::optional<CheckedModule> UnrollConvolution(const Instruction& convolution, bool kernel_is_finite) {
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  if (!MultipliesOneType(convolution) || !HasAllLabels(labels)) return std::nullopt;
  const std::optional<Features> features = FeaturesOf(convolution, labels);
  const Shape &input = convolution.operand(0)->shape(), &kernel = convolution.operand(1)->shape();
  if (!features.has_value() || *convolution.shape().ElementCount() == 0 || *input.ElementCount() == 0 ||
      *kernel.ElementCount() == 0)
    return std::nullopt;
  const int64_t positions =
      *convolution.shape().ElementCount() / convolution.shape().dim(labels.output_feature);
  if (!HasFewTerms(convolution, *features, labels) ||
      !IsPaddingSmall(convolution.Get<attr::window>(), labels.input_spatial, input,
                      positions * input.dim(labels.input_feature)))
    return std::nullopt;

  build::Builder builder(convolution.name());
  Op x = builder.Parameter(0, input.WithoutLayouts()), taps = builder.Parameter(1, kernel.WithoutLayouts());
  const ElementType type = convolution.shape().type();
  // Sums of small floats are rounded once.
  const bool is_wider = IsHalf(type);
  if (is_wider) {
    x = build::ConvertElementType(x, ElementType::kF32);
    taps = build::ConvertElementType(taps, ElementType::kF32);
  }
  ConvolutionUnroller unroller(convolution, labels, *features, x, taps);
  if (!unroller.Pad(kernel_is_finite)) return std::nullopt;
  Op sum = unroller.Sum();
  if (is_wider) sum = build::ConvertElementType(sum, type);
  return BuildReplacement(builder, sum, convolution);
}

}  // namespace hlo::plan
