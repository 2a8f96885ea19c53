#include "plan/rewrite/separate_taps.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hlo_run/builder.h"
#include "ir/element_types.h"
#include "plan/calls/replacement.h"

namespace hlo::plan {
namespace {

using build::Op;

// True if every result is the sum of the terms of at most one tap, and the base is dilated.
bool HasSeparateTaps(Window window) {
  bool is_dilated = false;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation < w.size) return false;
    is_dilated |= w.base_dilation > 1;
  }
  return is_dilated;
}

// True if the result has most of the dilated base, so that few products are computed for nothing.
bool HasMostOfBase(IntList sizes, Window window, const Shape& result, const DimLabels& labels) {
  constexpr int64_t kMaxDilation = 1 << 20, kMaxWaste = 2;
  for (size_t d = 0; d < window.size(); ++d) {
    if (window[d].base_dilation > kMaxDilation ||
        sizes[d] > kMaxWaste * result.dim(labels.output_spatial[d]) / window[d].base_dilation)
      return false;
  }
  return true;
}

// True for sums of products of the two operands, in the default algorithm.
bool HasPlainProducts(const Instruction& convolution) {
  return convolution.operand_count() == 2 && !convolution.Has<attr::dot_algorithm>() &&
         !convolution.Has<attr::sparsity_config>() && !convolution.Has<attr::block_scaling_config>() &&
         convolution.Get<attr::feature_group_count>(1) == 1 &&
         convolution.Get<attr::batch_group_count>(1) == 1;
}

// The rank of a dimension among the dimensions of an operand without one of them.
int64_t RankWithout(int64_t dim, int64_t removed) { return dim < removed ? dim : dim - 1; }

}  // namespace

std::optional<CheckedModule> ReplaceSeparateTaps(const Instruction& convolution) {
  if (!HasPlainProducts(convolution)) return std::nullopt;
  const Shape &input = convolution.operand(0)->shape(), &kernel = convolution.operand(1)->shape(),
              &result = convolution.shape();
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const auto window = convolution.Get<attr::window>();
  const bool has_batch = labels.input_batch >= 0 && labels.output_batch >= 0;
  if (!has_batch || labels.input_feature < 0 || labels.kernel_input_feature < 0 ||
      labels.kernel_output_feature < 0 || labels.output_feature < 0)
    return std::nullopt;
  std::vector<int64_t> sizes;
  for (const int64_t d : labels.input_spatial) sizes.push_back(input.dim(d));
  const bool is_number = IsFloat(result.type()) || IsIntegral(result.type());
  // A single term may be -0, which a sum is not.
  if (!is_number || input.type() != kernel.type() || input.dim(labels.input_feature) < 2 ||
      *result.ElementCount() == 0 || !HasSeparateTaps(window) ||
      !HasMostOfBase(sizes, window, result, labels))
    return std::nullopt;

  build::Builder builder(convolution.name());
  const Op x = builder.Parameter(0, input.WithoutLayouts());
  Op taps = builder.Parameter(1, kernel.WithoutLayouts());
  // Tap t of the base at position i is a term of the result at i * base_dilation + low - t.
  std::vector<int64_t> reversed;
  for (size_t d = 0; d < window.size(); ++d) {
    if (!window[d].reversed && window[d].size > 1) reversed.push_back(labels.kernel_spatial[d]);
  }
  if (!reversed.empty()) taps = build::Rev(taps, reversed);
  build::DotOptions options{.preferred_element_type = result.type()};
  if (convolution.Has<attr::operand_precision>()) {
    const auto precision = convolution.Get<attr::operand_precision>();
    options.precision.assign(precision.begin(), precision.end());
  }
  Op products = build::DotGeneral(
      x, taps, {.lhs_contracting = {labels.input_feature}, .rhs_contracting = {labels.kernel_input_feature}},
      options);
  const int64_t input_rank = input.rank() - 1;
  std::vector<int64_t> order, merged(static_cast<size_t>(result.rank()));
  std::vector<PaddingDim> gaps, edges(static_cast<size_t>(result.rank()));
  bool has_gaps = false, has_edges = false;
  for (int64_t d = 0; d < result.rank(); ++d) {
    merged[d] = result.dim(d);
    if (d == labels.output_batch) {
      order.push_back(RankWithout(labels.input_batch, labels.input_feature));
      gaps.push_back({});
    } else if (d == labels.output_feature) {
      order.push_back(input_rank + RankWithout(labels.kernel_output_feature, labels.kernel_input_feature));
      gaps.push_back({});
    } else {
      const auto s =
          static_cast<size_t>(std::find(labels.output_spatial.begin(), labels.output_spatial.end(), d) -
                              labels.output_spatial.begin());
      const WindowDim& w = window[s];
      order.push_back(RankWithout(labels.input_spatial[s], labels.input_feature));
      order.push_back(input_rank + RankWithout(labels.kernel_spatial[s], labels.kernel_input_feature));
      gaps.push_back({});
      gaps.push_back({0, w.base_dilation - w.size, 0});
      has_gaps |= w.base_dilation > w.size;
      merged[d] = sizes[s] * w.base_dilation;
      const int64_t low = w.padding_low - (w.size - 1);
      edges[d] = {low, result.dim(d) - merged[d] - low, 0};
      has_edges |= edges[d].low != 0 || edges[d].high != 0;
    }
  }
  products = build::Transpose(products, order);
  if (has_gaps) products = build::Pad(products, build::ScalarLike(products, 0), gaps);
  products = build::Reshape(products, merged);
  if (has_edges) products = build::Pad(products, build::ScalarLike(products, 0), edges);
  return BuildReplacement(builder, products, convolution);
}

}  // namespace hlo::plan
