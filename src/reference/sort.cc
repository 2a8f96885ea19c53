// Sort and topk (semantics 5.4, 5.5).

#include "reference/sort.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/elementwise.h"
#include "reference/scalar_function.h"
#include "types/index.h"

namespace hlo::reference {
namespace {

// The sorted records: the elements of all operands at one position and, last, the position.
struct Rows {
  int64_t width;
  std::vector<WideScalar> cells;

  int64_t count() const { return static_cast<int64_t>(cells.size()) / width; }
  const WideScalar* operator[](int64_t i) const { return cells.data() + i * width; }
  int64_t position(int64_t i) const { return cells[(i + 1) * width - 1].s; }
};

// A bottom-up merge sort. It is stable, and its result is a permutation for any `before`.
template <class Before>
absl::Status StableSort(Rows& rows, DeadlineChecker& deadline, Before&& before) {
  constexpr int64_t kNanosecondsACell = 4;
  const int64_t count = rows.count();
  std::vector<WideScalar> merged(rows.cells.size());
  for (int64_t length = 1; length < count; length *= 2) {
    WideScalar* out = merged.data();
    for (int64_t begin = 0; begin < count; begin += 2 * length) {
      const int64_t middle = std::min(begin + length, count), end = std::min(begin + 2 * length, count);
      HLO_RETURN_IF_ERROR(deadline.Spend(kNanosecondsACell * rows.width * (end - begin)));
      int64_t left = begin, right = middle;
      while (left < middle && right < end) {
        HLO_ASSIGN_OR_RETURN(const bool right_first, before(rows[right], rows[left]));
        out = std::copy_n(rows[right_first ? right++ : left++], rows.width, out);
      }
      out = std::copy(rows[left], rows[middle], out);
      out = std::copy(rows[right], rows[end], out);
    }
    std::swap(rows.cells, merged);
  }
  return absl::OkStatus();
}

// Lines along a dimension: element t of the line at `i` is stored at Offset(i) + t * stride.
struct Lines {
  Index starts, strides;  // Sizes and strides of the other dimensions.
  int64_t length, stride;
};

Lines LinesAlong(const Literal& array, int64_t dimension) {
  const Index strides = RowMajorStrides(array.dims()), others = OtherDims(array.rank(), {dimension});
  return {Pick(array.dims(), others), Pick(strides, others), array.dim(dimension), strides[dimension]};
}

Rows LoadLine(absl::Span<const Literal> arrays, int64_t start, const Lines& lines) {
  const auto count = static_cast<int64_t>(arrays.size());
  Rows rows{count + 1, std::vector<WideScalar>((count + 1) * lines.length)};
  for (int64_t k = 0; k < count; ++k) {
    const ScalarLoad load = ScalarLoader(arrays[k].type());
    for (int64_t t = 0; t < lines.length; ++t)
      rows.cells[t * rows.width + k] = load(arrays[k].data(), start + t * lines.stride);
  }
  for (int64_t t = 0; t < lines.length; ++t) rows.cells[t * rows.width + count].s = t;
  return rows;
}

}  // namespace

// Sorts each line along the dimension by `to_apply` ("a before b"), all operands together, stably.
absl::StatusOr<Literal> Sort(OpContext& context) {
  const absl::Span<const Literal> operands = context.operands;
  const Lines lines = LinesAlong(operands[0], context.instruction.Get<attr::dimensions>()[0]);
  std::vector<ElementType> types;
  for (const Literal& operand : operands) types.insert(types.end(), 2, operand.type());
  HLO_ASSIGN_OR_RETURN(const auto comparator, ScalarFunction::Make(*context.instruction.Get<attr::to_apply>(),
                                                                   context.caller, types));
  std::vector<Literal> results(operands.begin(), operands.end());
  for (Literal& result : results) {
    HLO_RETURN_IF_ERROR(result.MakeUnique());
  }
  std::vector<WideScalar> arguments(2 * operands.size());
  WideScalar answer;
  auto before = [&](const WideScalar* a, const WideScalar* b) -> absl::StatusOr<bool> {
    for (size_t k = 0; k < operands.size(); ++k) {
      arguments[2 * k] = a[k];
      arguments[2 * k + 1] = b[k];
    }
    HLO_RETURN_IF_ERROR(comparator->Run(arguments, absl::MakeSpan(&answer, 1)));
    return answer.u != 0;
  };
  DeadlineChecker deadline;
  for (const Index& i : EachIndex(lines.starts)) {
    const int64_t start = Offset(i, lines.strides);
    Rows rows = LoadLine(operands, start, lines);
    HLO_RETURN_IF_ERROR(StableSort(rows, deadline, before));
    for (size_t k = 0; k < operands.size(); ++k) {
      const int64_t width = ByteCount(operands[k].type());
      for (int64_t t = 0; t < lines.length; ++t) {
        std::memcpy(results[k].mutable_data() + (start + t * lines.stride) * width,
                    operands[k].data() + (start + rows.position(t) * lines.stride) * width, width);
      }
    }
  }
  return context.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

namespace {

// Returns the first elements of each sorted line along the last dimension and their positions. `before(a, b)`
// compares two elements; ties keep their order.
template <class Before>
absl::StatusOr<Literal> FirstOfLines(const Literal& operand, const Shape& shape, Before&& before) {
  const Lines lines = LinesAlong(operand, operand.rank() - 1);
  const int64_t width = ByteCount(operand.type());
  const bool fits = shape.IsTuple() && shape.elements().size() == 2 && shape.element(0).IsArray() &&
                    shape.element(0).rank() == operand.rank() &&
                    shape.element(1).IsArray(ElementType::kS32) &&
                    SameDimensions(shape.element(0), shape.element(1));
  Index dims = operand.dims();
  if (fits) dims.back() = shape.element(0).dims().back();
  if (!fits || dims != Index(shape.element(0).dims()))
    return absl::InvalidArgumentError(
        fmt::format("the first of {} do not fill {}", ToString(operand.shape()), ToString(shape)));
  HLO_ASSIGN_OR_RETURN(Literal values, Literal::CreateZeros(Shape::Array(operand.type(), dims)));
  HLO_ASSIGN_OR_RETURN(Literal positions, Literal::CreateZeros(shape.element(1)));
  const int64_t k = dims.back();
  DeadlineChecker deadline;
  int64_t out = 0;
  for (const Index& i : EachIndex(lines.starts)) {
    const int64_t start = Offset(i, lines.strides);
    Rows rows = LoadLine(absl::MakeConstSpan(&operand, 1), start, lines);
    HLO_RETURN_IF_ERROR(
        StableSort(rows, deadline, [&](const WideScalar* a, const WideScalar* b) { return before(*a, *b); }));
    for (int64_t t = 0; t < std::min(k, lines.length); ++t) {
      std::memcpy(values.mutable_data() + (out + t) * width,
                  operand.data() + (start + rows.position(t)) * width, width);
      positions.mutable_span<int32_t>()[out + t] = static_cast<int32_t>(rows.position(t));
    }
    out += k;
  }
  std::vector<Literal> results;
  results.push_back(std::move(values));
  results.push_back(std::move(positions));
  return Literal::Tuple(std::move(results));
}

// Sorts in total order, descending if `largest`.
absl::StatusOr<Literal> FirstInTotalOrder(const Literal& operand, const Shape& shape, bool largest) {
  const ScalarStep less = TotalOrderLess(operand.type());
  auto before = [&](const WideScalar& a, const WideScalar& b) -> absl::StatusOr<bool> {
    return (largest ? less(b, a) : less(a, b)).u != 0;
  };
  return FirstOfLines(operand, shape, before);
}

}  // namespace

absl::StatusOr<Literal> SortedLines(const Literal& array, bool descending) {
  const Shape shape = Shape::Tuple({array.shape(), Shape::Array(ElementType::kS32, array.dims())});
  return FirstInTotalOrder(array, shape, descending);
}

// Returns the k largest or smallest elements of each line along the last dimension, best first, and their
// positions.
absl::StatusOr<Literal> Topk(OpContext& context) {
  return FirstInTotalOrder(context.operands[0], context.shape(),
                           context.instruction.Get<attr::largest>(true));
}

// A plain GT or LT of the first two parameters means the total order.
absl::StatusOr<Literal> TopkByComparator(OpContext& context) {
  const Computation& comparator = *context.instruction.called_computations()[0];
  const Instruction& root = *comparator.root();
  const ComparisonDirection direction = root.Get<attr::direction>();
  if (root.opcode() == Opcode::kCompare && root.operand(0) == comparator.parameter(0) &&
      root.operand(1) == comparator.parameter(1) &&
      (direction == ComparisonDirection::kGt || direction == ComparisonDirection::kLt))
    return FirstInTotalOrder(context.operands[0], context.shape(), direction == ComparisonDirection::kGt);

  HLO_ASSIGN_OR_RETURN(const auto function, ScalarFunction::Make(comparator, context.caller));
  std::vector<WideScalar> arguments(
      comparator.parameters().size());  // The parameters after the first two are positions.
  WideScalar answer;
  auto before = [&](const WideScalar& a, const WideScalar& b) -> absl::StatusOr<bool> {
    arguments[0] = a;
    arguments[1] = b;
    HLO_RETURN_IF_ERROR(function->Run(arguments, absl::MakeSpan(&answer, 1)));
    return answer.u != 0;
  };
  return FirstOfLines(context.operands[0], context.shape(), before);
}

}  // namespace hlo::reference
