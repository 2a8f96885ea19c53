#include "plan/rewrite/unroll_windows.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo_run/builder.h"
#include "ir/element_types.h"
#include "ir/window_order.h"
#include "plan/calls/replacement.h"
#include "plan/codegen/operations.h"
#include "plan/rewrite/neutral_element.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

// The operation that combines the elements, and the type in which it does. The order does not affect the
// result of an exact one.
struct Combiner {
  Opcode opcode;
  ElementType type;
  bool is_exact;
};

std::optional<Combiner> CombinerOf(const Instruction& reduce_window) {
  if (reduce_window.operand_count() != 2 || !reduce_window.shape().IsArray() ||
      !CombinesInOperandTypes(reduce_window))
    return std::nullopt;
  const ElementType type = reduce_window.shape().type();
  const std::optional<Opcode> opcode = ElementwiseCombiner(*reduce_window.Get<attr::to_apply>());
  const bool has_lanes = IsPred(type) || IsHalf(type) || type == ElementType::kF32 ||
                         type == ElementType::kF64 || (IsIntegral(type) && BitWidth(type) >= 8);
  if (!opcode.has_value() || !has_lanes) return std::nullopt;
  const bool is_extreme = *opcode == Opcode::kMaximum || *opcode == Opcode::kMinimum;
  return Combiner{*opcode, IsHalf(type) && is_extreme ? ElementType::kF32 : type,
                  is_extreme || !IsFloat(type)};
}

// Dimensions with a window of several elements.
std::vector<int64_t> DimsOf(Window window) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < std::ssize(window); ++d) {
    if (window[d].size > 1) dims.push_back(d);
  }
  return dims;
}

// True if each window contains its predecessor along a dimension, as in a cumulative sum.
bool HasPrefixes(Window window, IntList sizes) {
  for (size_t d = 0; d < window.size(); ++d) {
    if (window[d].size > 2 && window[d].size >= sizes[d]) return true;
  }
  return false;
}

// Pads an operand so that all windows are within it.
std::vector<PaddingDim> PaddingOf(Window window) {
  std::vector<PaddingDim> padding;
  for (const WindowDim& w : window) padding.push_back({w.padding_low, w.padding_high, w.base_dilation - 1});
  return padding;
}

// True if the padded operand is not much larger than the operand and the result.
bool IsPaddingSmall(const Instruction& reduce_window) {
  const Shape& operand = reduce_window.operand(0)->shape();
  const Window window = reduce_window.Get<attr::window>();
  constexpr double kMaxPadded = 4;
  const double most = kMaxPadded * static_cast<double>(std::max(*operand.ElementCount(),
                                                                *reduce_window.shape().ElementCount()));
  double padded = 1;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const WindowDim& w = window[d];
    padded *= static_cast<double>(operand.dim(d)) * static_cast<double>(w.base_dilation) +
              static_cast<double>(w.padding_low) + static_cast<double>(w.padding_high);
  }
  return padded <= most;
}

class WindowUnroller {
 public:
  WindowUnroller(const Instruction& reduce_window, Combiner combiner, Op operand)
      : window_(reduce_window.Get<attr::window>()),
        result_(reduce_window.shape().dims()),
        peeled_(FindPeeledElements(window_, reduce_window.operand(0)->shape().dims(), result_)),
        combiner_(combiner),
        value_(operand) {}

  // Combines the elements of the windows along these dimensions with an initial value, if there is one, in
  // the order of semantics 5.3, and returns the results.
  Op Reduce(const std::vector<int64_t>& dims, Op init = {}) {
    Index sizes;
    for (const int64_t d : dims) sizes.push_back(window_[d].size);
    Op sum = init;
    for (const bool is_peeled : {false, true}) {
      for (const Index& element : EachIndex(sizes)) {
        if (IsPeeled(dims, element) != is_peeled) continue;
        const Op slice = SliceOf(dims, element);
        if (sum.ok() && sum.rank() < slice.rank()) sum = build::BroadcastInDim(sum, slice.dims(), {});
        sum = sum.ok() ? slice.builder()->Emit(combiner_.opcode, {sum, slice}, {}) : slice;
      }
    }
    value_ = sum;
    return sum;
  }

 private:
  bool IsPeeled(const std::vector<int64_t>& dims, const Index& element) const {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] == peeled_.dimension) return element[k] >= peeled_.first;
    }
    return false;
  }

  // Returns one element of each window along these dimensions, and all elements along the others.
  Op SliceOf(const std::vector<int64_t>& dims, const Index& element) const {
    const build::Dims sizes = value_.dims();
    std::vector<int64_t> starts(sizes.size(), 0), limits(sizes.begin(), sizes.end()),
        strides(sizes.size(), 1);
    for (size_t k = 0; k < dims.size(); ++k) {
      const auto d = static_cast<size_t>(dims[k]);
      const WindowDim& w = window_[d];
      starts[d] = element[k] * w.window_dilation;
      limits[d] = starts[d] + (result_[d] - 1) * w.stride + 1;
      strides[d] = w.stride;
    }
    return build::Slice(value_, starts, limits, strides);
  }

  const Window window_;
  const IntList result_;
  const PeeledElements peeled_;
  const Combiner combiner_;
  Op value_;
};

}  // namespace

std::optional<CheckedModule> UnrollWindows(const Instruction& reduce_window) {
  // The kernels for windows are faster for more elements.
  constexpr int64_t kMaxElements = 27, kMaxElementsAlong = 16;
  const std::optional<Combiner> combiner = CombinerOf(reduce_window);
  if (!combiner.has_value() || *reduce_window.shape().ElementCount() == 0) return std::nullopt;
  const Window window = reduce_window.Get<attr::window>();
  const Shape& operand = reduce_window.operand(0)->shape();
  std::vector<int64_t> dims = DimsOf(window);
  int64_t elements = 1;
  for (const int64_t d : dims) {
    const int64_t size = window[static_cast<size_t>(d)].size;
    if (size > kMaxElementsAlong) return std::nullopt;
    elements *= size;
  }
  if (elements > kMaxElements || HasPrefixes(window, operand.dims()) || !IsPaddingSmall(reduce_window))
    return std::nullopt;
  const std::optional<double> neutral = NeutralOf(combiner->opcode, combiner->type);
  if (!neutral.has_value()) return std::nullopt;

  build::Builder builder(reduce_window.name());
  Op x = builder.Parameter(0, operand.WithoutLayouts());
  Op init = builder.Parameter(1, reduce_window.operand(1)->shape().WithoutLayouts());
  const std::vector<PaddingDim> padding = PaddingOf(window);
  if (!absl::c_all_of(padding,
                      [](const PaddingDim& p) { return p.low == 0 && p.high == 0 && p.interior == 0; }))
    x = build::Pad(x, build::ScalarLike(x, *neutral), padding);
  const bool is_wider = combiner->type != operand.type();
  if (is_wider) {
    x = build::ConvertElementType(x, combiner->type);
    init = build::ConvertElementType(init, combiner->type);
  }
  WindowUnroller unroller(reduce_window, *combiner, x);
  // Elements at a stride along the last dimension are loaded one by one: there are fewer of them if the other
  // dimensions are reduced first.
  if (combiner->is_exact && dims.size() > 1 && dims.back() + 1 == operand.rank() &&
      window[dims.back()].stride > 1) {
    unroller.Reduce({dims.begin(), dims.end() - 1});
    dims = {dims.back()};
  }
  Op result = unroller.Reduce(dims, init);
  if (is_wider) result = build::ConvertElementType(result, operand.type());
  return BuildReplacement(builder, result, reduce_window);
}

}  // namespace hlo::plan
