#include "plan/rewrite/degenerate_contractions.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "hlo_run/builder.h"
#include "plan/codegen/operations.h"
#include "plan/rewrite/replacement.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

bool HaveSizeOne(const Shape& shape, IntList dims) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return shape.dim(d) == 1; });
}

// True if the product of any two numbers of these types, computed in the result's type, equals the
// contraction of one pair. f8e8m0fnu has a larger range than f16, although f16 is wider.
bool HaveExactProducts(ElementType a, ElementType b, ElementType result) {
  const auto fits = [&](ElementType type) {
    if (type == result) return true;
    if (type == ElementType::kF8E8M0FNU && BitWidth(result) < 32) return false;
    return BitWidth(type) < BitWidth(result) && IsFloat(type) == IsFloat(result) &&
           (IsFloat(type) || IsSigned(type) == IsSigned(result));
  };
  return (IsFloat(result) || IsIntegral(result)) && fits(a) && fits(b);
}

int64_t CountOf(const Shape& shape, IntList dims) { return Product(Pick(shape.dims(), dims)); }

// True if to_apply is an elementwise function of values of one type, also that of operand and result; for
// reductions of arrays or windows.
bool ReducesInOneType(const Instruction& reduce) {
  if (reduce.operand_count() != 2 || !reduce.shape().IsArray()) return false;
  const Computation& code = *reduce.Get<attr::to_apply>();
  const ElementType type = reduce.operand(0)->shape().type();
  const auto is_of_type = [&](const Shape& shape) { return shape.IsArray(type); };
  return is_of_type(reduce.operand(1)->shape()) && is_of_type(reduce.shape()) &&
         is_of_type(code.parameter(0)->shape()) && is_of_type(code.parameter(1)->shape()) &&
         is_of_type(code.root()->shape()) && IsElementwiseCode(code);
}

// True for a dot of a few pairs each that has few rows or columns, for which a matrix product takes longer
// than a loop, and is not tiny.
bool IsThinDot(const Instruction& dot, int64_t pairs) {
  constexpr int64_t kMaxPairs = 4, kMinResults = 64;
  const ElementType type = dot.shape().type();
  if (pairs < 2 || pairs > kMaxPairs || (type != ElementType::kF32 && type != ElementType::kF64) ||
      dot.operand(0)->shape().type() != type || dot.operand(1)->shape().type() != type)
    return false;
  const int64_t results = *dot.shape().ElementCount(),
                batches = CountOf(dot.operand(0)->shape(), dot.Get<attr::lhs_batch_dims>());
  if (results < kMinResults) return false;
  const int64_t rows = *dot.operand(0)->shape().ElementCount() / (batches * pairs);
  return std::min(rows, results / (batches * rows)) <= kMaxPairs;
}

// Returns the elements at index `number` of the contracted dimensions, without these dimensions.
Op SliceOf(Op operand, const Shape& shape, IntList contracted, int64_t number) {
  std::vector<int64_t> begin(shape.rank(), 0), end = {shape.dims().begin(), shape.dims().end()}, dims;
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    if (!Contains(contracted, d)) continue;
    begin[d] = number % shape.dim(d);
    end[d] = begin[d] + 1;
    number /= shape.dim(d);
  }
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!Contains(contracted, d)) dims.push_back(shape.dim(d));
  }
  return build::Reshape(build::Slice(operand, begin, end), dims);
}

}  // namespace

std::optional<CheckedModule> ReplaceDegenerateReduce(const Instruction& reduce) {
  if (!ReducesInOneType(reduce)) return std::nullopt;
  const Shape& elements = reduce.operand(0)->shape();
  if (!HaveSizeOne(elements, reduce.Get<attr::dimensions>())) return std::nullopt;
  build::Builder builder(reduce.name());
  const Op operand = builder.Parameter(0, elements.WithoutLayouts());
  return BuildReplacement(builder, build::Reshape(operand, reduce.shape().dims()), reduce);
}

namespace {

// True for a sum in f32 whose terms are contiguous. Such sums are rounded once, unless there are many of
// them.
bool IsRowSum(const Instruction& reduce) {
  constexpr int64_t kMany = 256;
  const Instruction& root = *reduce.Get<attr::to_apply>()->root();
  if (!reduce.shape().IsArray(ElementType::kF32) || root.opcode() != Opcode::kAdd || !IsReassociable(root))
    return false;
  const Shape& elements = reduce.operand(0)->shape();
  int64_t last = elements.rank() - 1;
  while (last > 0 && elements.dim(last) == 1) --last;
  const int64_t results = *reduce.shape().ElementCount();
  return results == 1 || (results < kMany && Contains(reduce.Get<attr::dimensions>(), last));
}

}  // namespace

std::vector<CheckedModule> ReplaceSmallReduce(const Instruction& reduce) {
  // Larger arrays are not stored before they are reduced.
  constexpr int64_t kMaxReduced = 8, kMaxElements = 4096;
  if (!ReducesInOneType(reduce)) return {};
  const Shape& elements = reduce.operand(0)->shape();
  const IntList reduced = reduce.Get<attr::dimensions>();
  const int64_t count = CountOf(elements, reduced);
  // Reductions of small floats round only their results.
  const bool rounds = IsFloat(elements.type()) && BitWidth(elements.type()) < 32;
  if (rounds || IsComplex(elements.type()) || count < 2 || count > kMaxReduced ||
      *elements.ElementCount() > kMaxElements)
    return {};
  std::vector<CheckedModule> terms;
  const bool is_row_sum = IsRowSum(reduce);
  for (int64_t k = 0; k < (is_row_sum ? 1 : count); ++k) {
    build::Builder builder(reduce.name());
    const Op operand = builder.Parameter(0, elements.WithoutLayouts());
    Op term = SliceOf(operand, elements, reduced, k);
    if (is_row_sum) {
      Op sum = build::ConvertElementType(term, ElementType::kF64);
      for (int64_t next = 1; next < count; ++next)
        sum = sum + build::ConvertElementType(SliceOf(operand, elements, reduced, next), ElementType::kF64);
      term = build::ConvertElementType(sum, ElementType::kF32);
    }
    std::optional<CheckedModule> module = BuildReplacement(builder, term, reduce);
    if (!module.has_value()) return {};
    terms.push_back(*std::move(module));
  }
  return terms;
}

namespace {

// Returns a value that does not change the result of the operation on any other operand.
std::optional<double> NeutralOf(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAdd:
      return IsFloat(type) ? -0.0 : 0.0;
    case Opcode::kMultiply:
      return 1;
    case Opcode::kMaximum:
      return IsFloat(type) ? std::optional(-std::numeric_limits<double>::infinity()) : std::nullopt;
    case Opcode::kMinimum:
      return IsFloat(type) ? std::optional(std::numeric_limits<double>::infinity()) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<CheckedModule> ReplaceTiledWindows(const Instruction& reduce_window) {
  // Short windows have a kernel of their own.
  constexpr int64_t kMinElements = 16;
  if (reduce_window.operand_count() != 2 || !reduce_window.shape().IsArray()) return std::nullopt;
  const Shape &operand = reduce_window.operand(0)->shape(), &result = reduce_window.shape();
  const ElementType type = operand.type();
  const Instruction& root = *reduce_window.Get<attr::to_apply>()->root();
  const bool is_exact =
      type == ElementType::kPred || (BitWidth(type) >= 32 && (IsFloat(type) || IsIntegral(type)));
  if (!is_exact || !ReducesInOneType(reduce_window) || !IsReassociable(root)) return std::nullopt;
  const auto window = reduce_window.Get<attr::window>();
  int64_t elements = 1;
  std::vector<PaddingDim> padding;
  std::vector<int64_t> dims, reduced;
  bool has_padding = false;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const WindowDim& w = window[d];
    const int64_t out = result.dim(d);
    if (w.window_dilation != 1 || w.base_dilation != 1 || w.padding_low < 0 || w.padding_high < 0 ||
        (out != 1 && w.stride != w.size) || w.padding_low + operand.dim(d) + w.padding_high != out * w.size)
      return std::nullopt;
    elements *= w.size;
    has_padding |= w.padding_low + w.padding_high > 0;
    padding.push_back({w.padding_low, w.padding_high, 0});
    dims.push_back(out);
    if (w.size == 1) continue;
    reduced.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(w.size);
  }
  const std::optional<double> neutral = NeutralOf(root.opcode(), type);
  if (elements < kMinElements || (has_padding && !neutral.has_value())) return std::nullopt;
  build::Builder builder(reduce_window.name());
  Op values = builder.Parameter(0, operand.WithoutLayouts());
  const Op init = builder.Parameter(1, reduce_window.operand(1)->shape().WithoutLayouts());
  if (has_padding) values = build::Pad(values, build::ScalarLike(values, *neutral), padding);
  return BuildReplacement(
      builder,
      build::Reduce(build::Reshape(values, dims), init, builder.Scalar(root.opcode(), type), reduced),
      reduce_window);
}

std::optional<CheckedModule> ReplaceDegenerateDot(const Instruction& dot) {
  const ElementType type = dot.shape().type();
  if (dot.operand_count() != 2 || dot.Has<attr::dot_algorithm>() || dot.Has<attr::sparsity_config>() ||
      dot.Has<attr::block_scaling_config>())
    return std::nullopt;
  const Shape shapes[] = {dot.operand(0)->shape().WithoutLayouts(), dot.operand(1)->shape().WithoutLayouts()};
  const IntList contracted[] = {dot.Get<attr::lhs_contracting_dims>(), dot.Get<attr::rhs_contracting_dims>()};
  const IntList batch[] = {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::rhs_batch_dims>()};
  const int64_t count = CountOf(shapes[0], contracted[0]);
  if (!HaveExactProducts(shapes[0].type(), shapes[1].type(), type) || (count != 1 && !IsThinDot(dot, count)))
    return std::nullopt;
  build::Builder builder(dot.name());
  const Op operands[] = {builder.Parameter(0, shapes[0]), builder.Parameter(1, shapes[1])};
  // Returns the elements of one side with this number, broadcast to the result.
  const auto factor = [&](int64_t side, int64_t number) {
    const Shape& shape = shapes[side];
    // The dimensions of the result that are not batch dimensions: those of the left side precede.
    auto free = static_cast<int64_t>(batch[0].size());
    if (side == 1) free += shapes[0].rank() - static_cast<int64_t>(batch[0].size() + contracted[0].size());
    std::vector<int64_t> places;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (Contains(contracted[side], d)) continue;
      const auto* at = std::find(batch[side].begin(), batch[side].end(), d);
      places.push_back(at != batch[side].end() ? at - batch[side].begin() : free++);
    }
    const Op slice = SliceOf(operands[side], shape, contracted[side], number);
    const Op result = build::BroadcastInDim(slice, dot.shape().dims(), places);
    return shape.type() == type ? result : build::ConvertElementType(result, type);
  };
  Op sum = factor(0, 0) * factor(1, 0);
  // The sum of a contraction begins with +0, which turns a product of -0 into +0.
  if (IsFloat(type)) sum = sum + build::FullLike(sum, 0);
  for (int64_t k = 1; k < count; ++k) sum = sum + factor(0, k) * factor(1, k);
  return BuildReplacement(builder, sum, dot);
}

}  // namespace hlo::plan
