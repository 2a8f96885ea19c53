// Calls that select and sort elements.

#include <vector>

#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "reference/custom/call_options.h"

namespace hlo::plan::calls {
namespace {

using reference::custom::Options;

// Sorts arrays together. All results are invalid if the comparator does not fit them.
std::vector<Op> SortTogether(const std::vector<Op>& arrays, const build::Function& comparator,
                             int64_t dimension) {
  const Op sorted = build::Sort(arrays, comparator, dimension, /*is_stable=*/true);
  if (!sorted.ok()) return std::vector<Op>(arrays.size());
  return arrays.size() == 1 ? std::vector<Op>{sorted} : build::Elements(sorted);
}

// Sorts along the last dimension, keys first, in total order.
std::vector<Op> Sorted(CallBuilder& b, const std::vector<Op>& arrays) {
  const bool descending = Options(b.call()).Bool("descending", false);
  std::vector<ElementType> types;
  for (const Op& array : arrays) types.push_back(array.type());
  const build::Function comparator =
      b.builder().Comparator(descending ? ComparisonDirection::kGt : ComparisonDirection::kLt, types);
  return SortTogether(arrays, comparator, arrays[0].rank() - 1);
}

// True if a comparator compares two elements, and not the positions that it may also have as parameters.
bool UsesTwoParameters(const Computation& comparator) {
  if (comparator.parameters().size() == 2) return true;
  if (comparator.parameters().size() != 4 || !comparator.parameter(2)->shape().IsScalar(ElementType::kS32) ||
      !comparator.parameter(3)->shape().IsScalar(ElementType::kS32))
    return false;
  for (const Instruction* instruction : comparator.instructions()) {
    for (const Instruction* operand : instruction->operands()) {
      if (operand == comparator.parameter(2) || operand == comparator.parameter(3)) return false;
    }
  }
  return true;
}

}  // namespace

// A comparison of the first two parameters selects in total order. Other comparators sort all elements with
// their positions, which the comparators may have as parameters, but may not use.
Expansion Topk(const Instruction& call) {
  const Computation& comparator = *call.called_computations()[0];
  const Instruction& root = *comparator.root();
  const ComparisonDirection direction = root.Get<attr::direction>();
  CallBuilder b(call);
  const Shape& values = b.results()[0];
  const int64_t last = values.rank() - 1, k = values.dim(last);
  if (root.opcode() == Opcode::kCompare && root.operand(0) == comparator.parameter(0) &&
      root.operand(1) == comparator.parameter(1) &&
      (direction == ComparisonDirection::kGt || direction == ComparisonDirection::kLt))
    return b.Finish(build::Elements(build::TopK(b.Raw(0), k, direction == ComparisonDirection::kGt)));
  if (!UsesTwoParameters(comparator)) return std::nullopt;
  const Shape position = Shape::Array(ElementType::kS32, {});
  const std::vector<Shape> unused(4 - comparator.parameters().size(), position);
  const build::Function imported = Imported(b.builder(), comparator, unused);
  if (imported.computation == nullptr) return std::nullopt;
  const Op positions = b.builder().Iota(Shape::Array(ElementType::kS32, b.shape_of(0).dims()), last);
  std::vector<Op> sorted = SortTogether({b.Raw(0), positions}, imported, last);
  if (!sorted[0].ok()) return std::nullopt;
  for (Op& array : sorted) array = build::SliceInDim(array, 0, k, 1, last);
  return b.Finish(sorted);
}

Expansion NamedTopk(const Instruction& call) {
  CallBuilder b(call);
  const Shape& values = b.results()[0];
  const Options options(call);
  return b.Finish(build::Elements(
      build::TopK(b.Raw(0), options.Int("k", values.dim(values.rank() - 1)), options.Bool("largest", true))));
}

Expansion SortKeys(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish(Sorted(b, {b.Raw(0)}));
}

Expansion SortPairs(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish(Sorted(b, {b.Raw(0), b.Raw(1)}));
}

Expansion RadixSort(const Instruction& call) {
  return call.operand_count() == 1 ? SortKeys(call) : SortPairs(call);
}

// Returns inclusive prefix sums along the rows of [vector, row, column], or suffix sums.
Expansion RunningSum(const Instruction& call) {
  CallBuilder b(call);
  const Options options(call);
  const int64_t rows = options.Int("row_length", 1), columns = options.Int("column_length", 1);
  const int64_t count = *b.results()[0].ElementCount();
  if (rows < 1 || columns < 1 || rows > count || columns > count || count % rows != 0 ||
      count / rows % columns != 0)
    return std::nullopt;  // The reference reports the error.
  if (!IsComplex(b.type()) && IsFloat(b.type()) != IsFloat(b.shape_of(0).type())) return std::nullopt;
  const Op x = build::Reshape(b.Wide(0), {count / rows / columns, rows, columns});
  const bool reverse = options.Bool("is_reverse", false);
  const std::pair<int64_t, int64_t> padding[] = {
      {0, 0}, {reverse ? 0 : rows - 1, reverse ? rows - 1 : 0}, {0, 0}};
  const Op zero = b.builder().Constant(x.type(), 0);
  return b.Finish({build::ReduceWindowWithGeneralPadding(x, zero, b.builder().Scalar(Opcode::kAdd, x.type()),
                                                         {1, rows, 1}, {1, 1, 1}, {}, {}, padding)});
}

// Sorts the arrays together by the comparator, and keeps as many elements as the results have.
Expansion ApproxTopK(const Instruction& call) {
  CallBuilder b(call);
  const reference::custom::Approximate form = reference::custom::ApproximateOf(call);
  if (b.operand_count() > 2 * form.arrays) return std::nullopt;  // The number of elements is an operand.
  const build::Function comparator = Imported(b.builder(), *call.called_computations()[0]);
  if (comparator.computation == nullptr) return std::nullopt;
  std::vector<Op> arrays;
  for (int64_t k = 0; k < form.arrays; ++k) arrays.push_back(b.Raw(k));
  std::vector<Op> results = SortTogether(arrays, comparator, form.dimension);
  if (!results[0].ok()) return std::nullopt;
  for (size_t k = 0; k < results.size(); ++k)
    results[k] = build::SliceInDim(results[k], 0, b.results()[k].dim(form.dimension), 1, form.dimension);
  return b.Finish(results);
}

}  // namespace hlo::plan::calls
