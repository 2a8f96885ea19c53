#include "plan/rewrite/degenerate_contractions.h"

#include <algorithm>
#include <complex>
#include <numeric>
#include <utility>
#include <vector>

#include "hlo_run/builder.h"
#include "ir/neutral_element.h"
#include "ir/result_shapes.h"
#include "ir/single_terms.h"
#include "loops/loop_program.h"
#include "plan/analysis/reduce_dims.h"
#include "plan/calls/replacement.h"
#include "plan/codegen/operations.h"
#include "plan/graph.h"
#include "types/index.h"
#include "types/promotion.h"

namespace hlo::plan {
namespace {

using build::Op;

// True if the product of any two numbers of these types, computed in the result's type, equals the
// contraction of one pair. f8e8m0fnu has a larger range than f16, although f16 is wider.
bool HaveExactProducts(ElementType a, ElementType b, ElementType result) {
  const auto fits = [&](ElementType type) {
    if (type == result) return true;
    if (type == ElementType::kF8E8M0FNU && BitWidth(result) < 32) return false;
    return BitWidth(type) < BitWidth(result) && IsFloat(type) == IsFloat(result) &&
           (IsFloat(type) || IsSigned(type) == IsSigned(result));
  };
  if (IsComplex(result)) return a == result && b == result;
  return (IsFloat(result) || IsIntegral(result)) && fits(a) && fits(b);
}

int64_t CountOf(const Shape& shape, IntList dims) { return Product(Pick(shape.dims(), dims)); }

// True for a reduction of one array, or of its windows, by an elementwise to_apply in the array's element
// type.
bool ReducesInOneType(const Instruction& reduce) {
  return reduce.operand_count() == 2 && reduce.shape().IsArray() && CombinesInOperandTypes(reduce) &&
         IsElementwiseCode(*reduce.Get<attr::to_apply>());
}

// True for a dot of a few pairs each that has few rows or columns, for which a matrix product takes longer
// than a loop, and is not tiny. Integers, and large products of a matrix and a vector, may have more pairs.
bool IsThinDot(const Instruction& dot, int64_t pairs) {
  constexpr int64_t kMaxPairs = 4, kMostPairs = 8, kMinResults = 64, kMinLargeResults = 4096;
  // SmallDot is faster for so few products.
  constexpr int64_t kMaxSmallProducts = 256;
  const ElementType type = dot.shape().type();
  const bool is_float = type == ElementType::kF32 || type == ElementType::kF64 || IsHalf(type);
  if (pairs < 2 || pairs > kMostPairs || (!is_float && !IsIntegral(type))) return false;
  if (is_float && (dot.operand(0)->shape().type() != type || dot.operand(1)->shape().type() != type))
    return false;
  const int64_t results = *dot.shape().ElementCount(),
                batches = CountOf(dot.operand(0)->shape(), dot.Get<attr::lhs_batch_dims>());
  const bool is_small = type == ElementType::kF32 || type == ElementType::kF64;
  if (results < kMinResults || (is_small && results * pairs <= kMaxSmallProducts)) return false;
  const int64_t rows = *dot.operand(0)->shape().ElementCount() / (batches * pairs);
  const int64_t narrow = std::min(rows, results / (batches * rows));
  const bool is_large = narrow == 1 && batches == 1 && results >= kMinLargeResults;
  return narrow <= kMaxPairs && (pairs <= kMaxPairs || is_large || !is_float);
}

// Returns the elements at index `number` of the contracted dimensions, without these dimensions. The last of
// the list varies fastest, so that both sides of a dot count their pairs alike.
Op SliceOf(Op operand, const Shape& shape, IntList contracted, int64_t number) {
  std::vector<int64_t> begin(shape.rank(), 0), end = {shape.dims().begin(), shape.dims().end()}, dims;
  for (size_t i = contracted.size(); i-- > 0;) {
    const int64_t d = contracted[i];
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

std::optional<CheckedModule> ReplaceSingleElements(const Instruction& reduce) {
  if (!ReducesSingleElements(reduce)) return std::nullopt;
  build::Builder builder(reduce.name());
  std::vector<Op> results;
  const absl::Span<const Shape> shapes = ResultShapes(reduce);
  for (size_t k = 0; k < shapes.size(); ++k) {
    const auto number = static_cast<int64_t>(k);
    const Op operand = builder.Parameter(number, reduce.operand(number)->shape().WithoutLayouts());
    results.push_back(build::Reshape(operand, shapes[k].dims()));
  }
  return BuildReplacement(builder, results, reduce);
}

namespace {

// True for a sum in f32 that is rounded once.
bool IsRowSum(const Instruction& reduce) {
  const Instruction& root = *reduce.Get<attr::to_apply>()->root();
  return reduce.shape().IsArray(ElementType::kF32) && root.opcode() == Opcode::kAdd && IsReassociable(root) &&
         ReduceDims(reduce.operand(0)->shape(), reduce.Get<attr::dimensions>(),
                    StoredOrder(reduce.operand(0)->shape().rank(), 0))
             .IsByRows();
}

}  // namespace

std::vector<CheckedModule> ReplaceSmallReduce(const Instruction& reduce) {
  // Larger arrays are not stored before they are reduced.
  constexpr int64_t kMaxReduced = 8, kMaxElements = 4096;
  if (!ReducesInOneType(reduce)) return {};
  const Shape& elements = reduce.operand(0)->shape();
  const IntList listed = reduce.Get<attr::dimensions>();
  std::vector<int64_t> reduced(listed.begin(), listed.end());
  std::sort(reduced.begin(), reduced.end());  // The terms are in row-major order.
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

// Returns the number of rows that are added at the same time, a divisor of `count`: the steps of both
// reductions are few, and a row of them fits a tile. Returns 1 if there is no suitable divisor.
int64_t PartsOfColumns(int64_t count, int64_t columns) {
  constexpr int64_t kMinWidth = 32, kMaxWidth = 1024;
  int64_t best = 1;
  for (int64_t parts = 2; parts * columns <= kMaxWidth && parts * parts <= count; ++parts) {
    if (count % parts == 0 && parts * columns >= kMinWidth) best = parts;
  }
  return best;
}

}  // namespace

std::optional<CheckedModule> ReplaceNarrowReduce(const Instruction& reduce) {
  constexpr int64_t kWide = 128, kMinReduced = 64;
  if (!ReducesInOneType(reduce)) return std::nullopt;
  const Shape& elements = reduce.operand(0)->shape();
  const ElementType type = elements.type();
  const Instruction& root = *reduce.Get<attr::to_apply>()->root();
  const std::optional<double> neutral = NeutralOf(root.opcode(), type);
  // Reductions of small floats round only their results.
  if (IsComplex(type) || BitWidth(type) < 32 || !neutral.has_value() || !IsReassociable(root))
    return std::nullopt;
  // The dimensions are those before the reduced ones, the reduced ones, and those after them.
  const IntList dimensions = reduce.Get<attr::dimensions>();
  if (dimensions.empty()) return std::nullopt;
  const auto [first, last] = std::minmax_element(dimensions.begin(), dimensions.end());
  if (*last - *first + 1 != static_cast<int64_t>(dimensions.size())) return std::nullopt;
  const int64_t before = Product(elements.dims().first(*first)), count = CountOf(elements, dimensions),
                after = Product(elements.dims().subspan(*last + 1));
  if (before == 0 || after < 2 || after >= kWide || count < kMinReduced) return std::nullopt;
  const int64_t parts = PartsOfColumns(count, after);
  if (parts == 1) return std::nullopt;
  build::Builder builder(reduce.name());
  const Op values = builder.Parameter(0, elements.WithoutLayouts()),
           init = builder.Parameter(1, reduce.operand(1)->shape().WithoutLayouts());
  const Op rows = build::Reshape(values, {before, count / parts, parts * after}),
           sums = build::Reduce(rows, build::ScalarLike(values, *neutral),
                                builder.Scalar(root.opcode(), type), {1}),
           result = build::Reduce(build::Reshape(sums, {before, parts, after}), init,
                                  builder.Scalar(root.opcode(), type), {1});
  return BuildReplacement(builder, build::Reshape(result, ToVector(reduce.shape().dims())), reduce);
}

namespace {

// True if windows of this dimension do not overlap, and cover its elements and the padding.
bool IsTiled(const WindowDim& w, int64_t operand, int64_t result) {
  return w.window_dilation == 1 && w.base_dilation == 1 && w.padding_low >= 0 && w.padding_high >= 0 &&
         (result == 1 || w.stride == w.size) && w.padding_low + operand + w.padding_high == result * w.size;
}

}  // namespace

std::optional<CheckedModule> ReplaceTiledWindows(const Instruction& reduce_window) {
  // Short windows have a kernel of their own.
  constexpr int64_t kMinElements = 16;
  if (reduce_window.operand_count() != 2 || !reduce_window.shape().IsArray()) return std::nullopt;
  const Shape &operand = reduce_window.operand(0)->shape(), &result = reduce_window.shape();
  const ElementType type = operand.type();
  const Instruction& root = *reduce_window.Get<attr::to_apply>()->root();
  // Reductions of small floats round only their results.
  const bool is_exact = type == ElementType::kPred || BitWidth(type) >= 32;
  if (!is_exact || !ReducesInOneType(reduce_window) || !IsReassociable(root)) return std::nullopt;
  const auto window = reduce_window.Get<attr::window>();
  int64_t elements = 1;
  std::vector<PaddingDim> padding;
  std::vector<int64_t> dims, reduced;
  bool has_padding = false;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const WindowDim& w = window[d];
    const int64_t out = result.dim(d);
    if (!IsTiled(w, operand.dim(d), out)) return std::nullopt;
    elements *= w.size;
    has_padding |= w.padding_low + w.padding_high > 0;
    padding.push_back({w.padding_low, w.padding_high, 0});
    dims.push_back(out);
    if (w.size == 1) continue;
    reduced.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(w.size);
  }
  const std::optional<double> neutral = NeutralOf(root.opcode(), type);
  // Padding takes longer than the windows if these are extremes of integers.
  const bool pads = type == ElementType::kPred || IsFloat(type) || root.opcode() == Opcode::kAdd ||
                    root.opcode() == Opcode::kMultiply;
  if (elements < kMinElements || (has_padding && !(neutral.has_value() && pads))) return std::nullopt;
  build::Builder builder(reduce_window.name());
  Op values = builder.Parameter(0, operand.WithoutLayouts());
  const Op init = builder.Parameter(1, reduce_window.operand(1)->shape().WithoutLayouts());
  if (has_padding) values = build::Pad(values, build::ScalarLike(values, *neutral), padding);
  return BuildReplacement(
      builder,
      build::Reduce(build::Reshape(values, dims), init, builder.Scalar(root.opcode(), type), reduced),
      reduce_window);
}

namespace {

// True if the literal is this number.
bool IsNumber(const Literal& literal, double number) {
  const ElementType type = literal.type();
  if (type == ElementType::kF32) return literal.span<float>()[0] == static_cast<float>(number);
  if (type == ElementType::kF64) return literal.span<double>()[0] == number;
  if (type == ElementType::kC64) return literal.span<std::complex<float>>()[0] == static_cast<float>(number);
  if (type == ElementType::kC128) return literal.span<std::complex<double>>()[0] == number;
  return !IsFloat(type) && loops::ReadInteger(type, literal.data()) == static_cast<int64_t>(number);
}

// Returns the dimensions of an array, except those of size 1, that a reduction of a reshape of it combines.
// Returns nullopt if the reduction combines only a part of the elements along one.
std::optional<std::vector<int64_t>> ReducedBeforeReshape(IntList from, IntList to, IntList reduced) {
  std::vector<int64_t> result;
  const auto rank = std::ssize(from), to_rank = std::ssize(to);
  for (int64_t d = 0, e = 0; d < rank; ++d) {
    if (from[d] == 1) continue;
    const int64_t first = d;
    int64_t count = from[d], covered = 1, combined = 1;
    while (covered != count) {
      if (covered < count) {
        if (e == to_rank) return std::nullopt;
        if (Contains(reduced, e)) combined *= to[e];
        covered *= to[e++];
      } else {
        if (++d == rank) return std::nullopt;
        count *= from[d];
      }
    }
    if (combined != 1 && combined != count) return std::nullopt;
    for (int64_t k = first; combined == count && k <= d; ++k) {
      if (from[k] != 1) result.push_back(k);
    }
  }
  return result;
}

}  // namespace

std::optional<CheckedModule> ReplaceReduceOfWindows(const Instruction& reduce, const Instruction& windows,
                                                    const Literal& neutral) {
  if (!ReducesInOneType(reduce) || !ReducesInOneType(windows)) return std::nullopt;
  const Shape &elements = windows.operand(0)->shape(), &results = windows.shape(),
              &operand = reduce.operand(0)->shape();
  const ElementType type = operand.type();
  const Instruction& root = *reduce.Get<attr::to_apply>()->root();
  const Opcode opcode = root.opcode();
  const std::optional<double> expected = NeutralOf(opcode, type);
  // Sums of floats are faster in steps: windows are fused with the producers of their elements.
  const bool is_worthwhile = !IsFloat(type) || opcode != Opcode::kAdd;
  if (results.type() != type || *elements.ElementCount() == 0 || !is_worthwhile || !IsReassociable(root) ||
      windows.Get<attr::to_apply>()->root()->opcode() != opcode || !expected.has_value() ||
      !IsNumber(neutral, *expected))
    return std::nullopt;
  std::optional<std::vector<int64_t>> reduced =
      ReducedBeforeReshape(results.dims(), operand.dims(), reduce.Get<attr::dimensions>());
  if (!reduced.has_value()) return std::nullopt;
  const auto window = windows.Get<attr::window>();
  for (int64_t d = 0; d < elements.rank(); ++d) {
    if (!IsTiled(window[d], elements.dim(d), results.dim(d))) return std::nullopt;
    if (window[d].size == 1 || Contains(*reduced, d)) continue;
    if (results.dim(d) != 1) return std::nullopt;
    reduced->push_back(d);
  }
  std::sort(reduced->begin(), reduced->end());
  build::Builder builder(reduce.name());
  const Op values = builder.Parameter(0, elements.WithoutLayouts()),
           init = builder.Parameter(1, reduce.operand(1)->shape().WithoutLayouts());
  const Op result = build::Reduce(values, init, builder.Scalar(opcode, type), *reduced);
  return BuildReplacement(builder, build::Reshape(result, ToVector(reduce.shape().dims())), reduce);
}

namespace {

// The factors of a dot's products.
class DotFactors {
 public:
  DotFactors(const Instruction& dot, build::Builder& builder)
      : dims_(dot.shape().dims()),
        shapes_{dot.operand(0)->shape().WithoutLayouts(), dot.operand(1)->shape().WithoutLayouts()},
        contracted_{dot.Get<attr::lhs_contracting_dims>(), dot.Get<attr::rhs_contracting_dims>()},
        batch_{dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::rhs_batch_dims>()},
        operands_{builder.Parameter(0, shapes_[0]), builder.Parameter(1, shapes_[1])} {}

  // Returns the product of the pair with this number for all results, computed in this type.
  Op Product(int64_t number, ElementType type) const {
    return Factor(0, number, type) * Factor(1, number, type);
  }

 private:
  // Returns the elements of one side with this number, broadcast to the result.
  Op Factor(int64_t side, int64_t number, ElementType type) const {
    const Shape& shape = shapes_[side];
    // The dimensions of the result that are not batch dimensions: those of the left side precede.
    auto free = static_cast<int64_t>(batch_[0].size());
    if (side == 1) free += shapes_[0].rank() - static_cast<int64_t>(batch_[0].size() + contracted_[0].size());
    std::vector<int64_t> broadcast_dims;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (Contains(contracted_[side], d)) continue;
      const auto* at = std::find(batch_[side].begin(), batch_[side].end(), d);
      broadcast_dims.push_back(at != batch_[side].end() ? at - batch_[side].begin() : free++);
    }
    const Op slice = SliceOf(operands_[side], shape, contracted_[side], number);
    // The dimensions of a broadcast ascend.
    std::vector<int64_t> order(broadcast_dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int64_t x, int64_t y) { return broadcast_dims[x] < broadcast_dims[y]; });
    std::sort(broadcast_dims.begin(), broadcast_dims.end());
    const Op result = build::BroadcastInDim(build::Transpose(slice, order), dims_, broadcast_dims);
    return shape.type() == type ? result : build::ConvertElementType(result, type);
  }

  IntList dims_;
  Shape shapes_[2];
  IntList contracted_[2], batch_[2];
  Op operands_[2];
};

// Returns the type in which a dot adds products; only the sum is rounded to the result's type.
ElementType SumType(ElementType result) {
  return IsFloat(result) && BitWidth(result) < 32 ? ElementType::kF32 : result;
}

bool HasPlainProducts(const Instruction& dot) {
  return dot.operand_count() == 2 && !dot.Has<attr::sparsity_config>() &&
         !dot.Has<attr::block_scaling_config>();
}

}  // namespace

std::optional<CheckedModule> ReplaceSingleProduct(const Instruction& dot) {
  if (!HasPlainProducts(dot) || !IsSingleProduct(dot)) return std::nullopt;
  const ElementType lhs = dot.operand(0)->shape().type(), rhs = dot.operand(1)->shape().type(),
                    result = dot.shape().type(), type = ProductType(lhs, rhs, result),
                    wide = IsComplex(type) ? ElementType::kC128 : ElementType::kF64;
  build::Builder builder(dot.name());
  Op product = DotFactors(dot, builder).Product(0, HaveExactProducts(lhs, rhs, type) ? type : wide);
  for (const ElementType rounded : {type, result}) {
    if (product.shape().type() != rounded) product = build::ConvertElementType(product, rounded);
  }
  return BuildReplacement(builder, product, dot);
}

std::optional<CheckedModule> ReplaceThinDot(const Instruction& dot) {
  if (!HasPlainProducts(dot) || dot.Has<attr::dot_algorithm>()) return std::nullopt;
  const ElementType lhs = dot.operand(0)->shape().type(), rhs = dot.operand(1)->shape().type(),
                    type = dot.shape().type();
  const int64_t count = CountOf(dot.operand(0)->shape(), dot.Get<attr::lhs_contracting_dims>());
  const bool is_integer_product = count == 1 && IsIntegral(type);
  const ElementType sum_type = count > 1 ? SumType(type) : type;
  if (!HaveExactProducts(lhs, rhs, sum_type) || (!is_integer_product && !IsThinDot(dot, count)))
    return std::nullopt;
  build::Builder builder(dot.name());
  const DotFactors factors(dot, builder);
  Op sum = factors.Product(0, sum_type);
  // The sum of a contraction begins with +0, which turns a product of -0 into +0.
  if (IsFloat(type)) sum = sum + build::FullLike(sum, 0);
  for (int64_t k = 1; k < count; ++k) sum = sum + factors.Product(k, sum_type);
  if (sum_type != type) sum = build::ConvertElementType(sum, type);
  return BuildReplacement(builder, sum, dot);
}

std::optional<CheckedModule> ReplaceVectorDot(const Instruction& dot) {
  constexpr int64_t kMinProducts = 64;
  if (!HasPlainProducts(dot) || dot.Has<attr::dot_algorithm>()) return std::nullopt;
  const Shape &lhs = dot.operand(0)->shape(), &rhs = dot.operand(1)->shape();
  const ElementType type = dot.shape().type(), sum_type = SumType(type);
  const IntList contracted[] = {dot.Get<attr::lhs_contracting_dims>(), dot.Get<attr::rhs_contracting_dims>()},
                batch[] = {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::rhs_batch_dims>()};
  const auto dims = static_cast<int64_t>(contracted[0].size() + batch[0].size());
  const int64_t results = *dot.shape().ElementCount(), products = *lhs.ElementCount();
  if (lhs.rank() != dims || rhs.rank() != dims || products < kMinProducts || contracted[0].empty() ||
      !HaveExactProducts(lhs.type(), rhs.type(), sum_type))
    return std::nullopt;
  // The dimensions of the right side in the order of the left.
  std::vector<int64_t> order(dims);
  for (const IntList* numbers : {contracted, batch}) {
    for (size_t i = 0; i < numbers[0].size(); ++i) order[numbers[0][i]] = numbers[1][i];
  }
  // Products of matrices have a faster kernel for two vectors of floats in the same order.
  if (results == 1 && IsFloat(type) && std::is_sorted(order.begin(), order.end())) return std::nullopt;
  build::Builder builder(dot.name());
  const auto as_sum = [&](Op x) { return x.type() == sum_type ? x : build::ConvertElementType(x, sum_type); };
  const Op left = as_sum(builder.Parameter(0, lhs.WithoutLayouts())),
           right = as_sum(builder.Parameter(1, rhs.WithoutLayouts()));
  const Op sums = build::Reduce(left * build::Transpose(right, order), builder.Constant(sum_type, 0),
                                builder.Scalar(Opcode::kAdd, sum_type), ToVector(contracted[0]));
  // The batch dimensions of the sums ascend.
  std::vector<int64_t> ascending = ToVector(batch[0]), places;
  std::sort(ascending.begin(), ascending.end());
  for (const int64_t d : batch[0])
    places.push_back(std::find(ascending.begin(), ascending.end(), d) - ascending.begin());
  const Op result = build::Transpose(sums, places);
  return BuildReplacement(builder, sum_type == type ? result : build::ConvertElementType(result, type), dot);
}

}  // namespace hlo::plan
