#include "plan/rewrite/unroll_windows.h"

#include <numeric>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo_run/builder.h"
#include "ir/element_types.h"
#include "ir/neutral_element.h"
#include "ir/result_shapes.h"
#include "ir/window_order.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/replacement.h"
#include "plan/codegen/operations.h"
#include "plan/rewrite/window_padding.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

// A combiner that is one operation on its parameters, and the type in which it is performed. The order of
// elements does not affect the result of an exact one.
struct SingleOperation {
  Opcode opcode;
  ElementType type;
  bool is_exact;
};

std::optional<SingleOperation> SingleOperationOf(const Instruction& reduce_window) {
  if (reduce_window.operand_count() != 2) return std::nullopt;
  const ElementType type = reduce_window.operand(0)->shape().type();
  const std::optional<Opcode> opcode = ElementwiseCombiner(*reduce_window.Get<attr::to_apply>());
  if (!opcode.has_value()) return std::nullopt;
  const bool is_extreme = *opcode == Opcode::kMaximum || *opcode == Opcode::kMinimum;
  return SingleOperation{*opcode, IsHalf(type) && is_extreme ? ElementType::kF32 : type,
                         is_extreme || !IsFloat(type)};
}

// True for elementwise operations on scalars, of which the root may be a tuple.
bool IsElementwiseWithTuple(const Computation& to_apply) {
  return absl::c_all_of(to_apply.instructions(), [&](const Instruction* i) {
    switch (i->opcode()) {
      case Opcode::kParameter:
        return i->shape().IsScalar();
      case Opcode::kConstant:
        return i->shape().IsScalar() && !i->is_elided();
      case Opcode::kTuple:
        return i == to_apply.root();
      default:
        return i->shape().IsScalar() && i->called_computations().empty() && HasOperation(*i);
    }
  });
}

bool HasLanes(ElementType type) {
  return IsPred(type) || IsHalf(type) || type == ElementType::kF32 || type == ElementType::kF64 ||
         (IsIntegral(type) && BitWidth(type) >= 8);
}

// Performs to_apply on arrays, and returns its results.
std::vector<Op> OnArrays(const Computation& to_apply, const std::vector<Op>& arguments) {
  build::Builder& builder = *arguments[0].builder();
  const build::Dims sizes = arguments[0].dims();
  const auto emit = [&](const Instruction& i, const std::vector<Op>& operands) -> Op {
    if (i.opcode() == Opcode::kTuple) return {};
    const bool is_constant = i.opcode() == Opcode::kConstant;
    const Op copy = builder.Emit(i.opcode(), operands, {i.attributes().begin(), i.attributes().end()},
                                 Shape::Array(i.shape().type(), is_constant ? build::Dims() : sizes));
    return is_constant ? build::Broadcast(copy, sizes) : copy;
  };
  const Copies copies = InlinedBy(to_apply, arguments, emit);
  const Instruction& root = *to_apply.root();
  if (root.opcode() != Opcode::kTuple) return {copies.at(&root)};
  std::vector<Op> results;
  for (const Instruction* element : root.operands()) results.push_back(copies.at(element));
  return results;
}

// Dimensions along which a window is more than each element once.
std::vector<int64_t> DimsOf(Window window) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < std::ssize(window); ++d) {
    if (!(window[d] == WindowDim{}) && !(window[d] == WindowDim{.reversed = true})) dims.push_back(d);
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

class WindowUnroller {
 public:
  // Masks exclude the padding of the operands, unless it is neutral.
  WindowUnroller(const Instruction& reduce_window, std::optional<SingleOperation> single, bool is_masked,
                 std::vector<Op> operands)
      : window_(reduce_window.Get<attr::window>()),
        base_(reduce_window.operand(0)->shape().dims()),
        result_(ResultShapes(reduce_window)[0].dims()),
        peeled_(FindPeeledElements(window_, base_, result_)),
        to_apply_(*reduce_window.Get<attr::to_apply>()),
        single_(single),
        is_masked_(is_masked),
        values_(std::move(operands)) {}

  // Combines the elements of the windows along these dimensions with initial values, if there are some, in
  // the order of semantics 5.3, and returns the results.
  const std::vector<Op>& Reduce(const std::vector<int64_t>& dims, std::vector<Op> results = {}) {
    Index sizes;
    for (const int64_t d : dims) sizes.push_back(window_[d].size);
    for (const bool is_peeled : {false, true}) {
      for (const Index& element : EachIndex(sizes)) {
        if (IsPeeled(dims, element) != is_peeled) continue;
        const std::vector<Op> slices = SlicesOf(dims, element);
        results = results.empty() ? slices : Combine(results, slices, MaskOf(dims, element));
      }
    }
    values_ = std::move(results);
    return values_;
  }

 private:
  bool IsPeeled(const std::vector<int64_t>& dims, const Index& element) const {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] == peeled_.dimension) return element[k] >= peeled_.first;
    }
    return false;
  }

  std::vector<Op> Combine(std::vector<Op> results, const std::vector<Op>& slices, Op mask) const {
    for (Op& result : results) {
      if (result.rank() < slices[0].rank()) result = build::BroadcastInDim(result, slices[0].dims(), {});
    }
    if (single_.has_value()) return {slices[0].builder()->Emit(single_->opcode, {results[0], slices[0]}, {})};
    std::vector<Op> arguments = results;
    arguments.insert(arguments.end(), slices.begin(), slices.end());
    std::vector<Op> combined = OnArrays(to_apply_, arguments);
    for (size_t k = 0; k < combined.size() && mask.ok(); ++k)
      combined[k] = build::Select(mask, combined[k], results[k]);
    return combined;
  }

  Op MaskOf(const std::vector<int64_t>& dims, const Index& element) const {
    Op mask;
    for (size_t k = 0; k < dims.size() && is_masked_; ++k) {
      const WindowDim& w = window_[dims[k]];
      mask = BothMasks(mask, MaskOfElement(*values_[0].builder(), result_, dims[k], w, base_[dims[k]],
                                           element[k] * w.window_dilation));
    }
    return mask;
  }

  // Returns one element of each window along these dimensions, and all elements along the others.
  std::vector<Op> SlicesOf(const std::vector<int64_t>& dims, const Index& element) const {
    const build::Dims sizes = values_[0].dims();
    std::vector<int64_t> starts(sizes.size(), 0), limits(sizes.begin(), sizes.end()),
        strides(sizes.size(), 1);
    for (size_t k = 0; k < dims.size(); ++k) {
      const auto d = static_cast<size_t>(dims[k]);
      const WindowDim& w = window_[d];
      starts[d] = element[k] * w.window_dilation;
      limits[d] = starts[d] + (result_[d] - 1) * w.stride + 1;
      strides[d] = w.stride;
    }
    std::vector<Op> slices;
    for (const Op& value : values_) slices.push_back(build::Slice(value, starts, limits, strides));
    return slices;
  }

  const Window window_;
  const IntList base_, result_;
  const PeeledElements peeled_;
  const Computation& to_apply_;
  const std::optional<SingleOperation> single_;
  const bool is_masked_;
  std::vector<Op> values_;
};

// True if the kernels for windows take longer than a loop over the elements.
bool HasFewElements(const Instruction& reduce_window, const std::vector<int64_t>& dims) {
  constexpr int64_t kMaxElements = 27, kMaxElementsAlong = 16, kMaxOperations = 160;
  const Window window = reduce_window.Get<attr::window>();
  int64_t elements = 1;
  for (const int64_t d : dims) {
    if (window[d].size > kMaxElementsAlong) return false;
    elements *= window[d].size;
  }
  const int64_t operations = absl::c_count_if(reduce_window.Get<attr::to_apply>()->instructions(),
                                              [](const Instruction* i) { return i->operand_count() > 0; });
  return elements <= kMaxElements && elements * operations <= kMaxOperations;
}

}  // namespace

std::optional<CheckedModule> UnrollWindows(const Instruction& reduce_window) {
  const Computation& to_apply = *reduce_window.Get<attr::to_apply>();
  const Window window = reduce_window.Get<attr::window>();
  const Shape &operand = reduce_window.operand(0)->shape(), &result = ResultShapes(reduce_window)[0];
  const int64_t count = reduce_window.operand_count() / 2;
  std::vector<int64_t> dims = DimsOf(window), all_dims(window.size());
  std::iota(all_dims.begin(), all_dims.end(), 0);
  for (int64_t k = 0; k < count; ++k) {
    if (!HasLanes(reduce_window.operand(k)->shape().type())) return std::nullopt;
  }
  if (!CombinesInOperandTypes(reduce_window) || !IsElementwiseWithTuple(to_apply) ||
      *result.ElementCount() == 0 || *operand.ElementCount() == 0 || !HasFewElements(reduce_window, dims) ||
      HasPrefixes(window, operand.dims()) ||
      !IsPaddingSmall(window, all_dims, operand, *result.ElementCount()))
    return std::nullopt;
  std::optional<SingleOperation> single = SingleOperationOf(reduce_window);
  std::optional<double> neutral;
  if (single.has_value()) neutral = NeutralOf(single->opcode, single->type);
  const std::vector<PaddingDim> padding = PaddingOf(window, all_dims, operand.rank());
  const bool is_masked = !padding.empty() && !neutral.has_value();
  // A mask of the holes between dilated elements takes longer than the kernel.
  const auto is_dilated = [](const WindowDim& w) { return w.base_dilation > 1; };
  if (is_masked && absl::c_any_of(window, is_dilated)) return std::nullopt;
  if (is_masked) single.reset();

  build::Builder builder(reduce_window.name());
  const auto wide = [&](Op x) {
    return single.has_value() && single->type != x.type() ? build::ConvertElementType(x, single->type) : x;
  };
  std::vector<Op> operands, inits;
  for (int64_t k = 0; k < count; ++k) {
    Op x = builder.Parameter(k, reduce_window.operand(k)->shape().WithoutLayouts());
    if (!padding.empty()) x = build::Pad(x, build::ScalarLike(x, neutral.value_or(0)), padding);
    operands.push_back(wide(x));
  }
  for (int64_t k = count; k < 2 * count; ++k)
    inits.push_back(wide(builder.Parameter(k, reduce_window.operand(k)->shape().WithoutLayouts())));
  WindowUnroller unroller(reduce_window, single, is_masked, operands);
  // Elements at a stride along the last dimension are loaded one by one: there are fewer of them if the other
  // dimensions are reduced first.
  if (single.has_value() && single->is_exact && dims.size() > 1 && dims.back() + 1 == operand.rank() &&
      window[dims.back()].stride > 1) {
    unroller.Reduce({dims.begin(), dims.end() - 1});
    dims = {dims.back()};
  }
  std::vector<Op> results = unroller.Reduce(dims, inits);
  for (size_t k = 0; k < results.size(); ++k) {
    const ElementType type = ResultShapes(reduce_window)[k].type();
    if (results[k].type() != type) results[k] = build::ConvertElementType(results[k], type);
  }
  return BuildReplacement(builder, results, reduce_window);
}

}  // namespace hlo::plan
