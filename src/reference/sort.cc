// Sort and topk (semantics 5.4, 5.5).

#include "reference/sort.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "reference/elementwise.h"
#include "reference/scalar_function.h"
#include "types/index.h"

namespace hlo::reference {
namespace {

// Merges neighbouring runs of doubling length. Stable, and a permutation whatever `before` answers.
template <class Before>
absl::Status StableSort(std::vector<int64_t>& order, Before&& before) {
  const auto count = static_cast<int64_t>(order.size());
  std::vector<int64_t> merged(order.size());
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t middle = std::min(begin + width, count), end = std::min(begin + 2 * width, count);
      int64_t left = begin, right = middle, out = begin;
      while (left < middle && right < end) {
        HLO_ASSIGN_OR_RETURN(const bool right_first, before(order[right], order[left]));
        merged[out++] = right_first ? order[right++] : order[left++];
      }
      std::copy(order.begin() + left, order.begin() + middle, merged.begin() + out);
      std::copy(order.begin() + right, order.begin() + end, merged.begin() + out + (middle - left));
    }
    std::swap(order, merged);
  }
  return absl::OkStatus();
}

// Lines along a dimension: element t of the line at `i` lies at Offset(i) + t * stride.
struct Lines {
  Index starts, strides;  // Sizes and strides of the other dimensions.
  int64_t length, stride;
};

Lines LinesAlong(const Literal& array, int64_t dimension) {
  const Index strides = RowMajorStrides(array.dims()), others = OtherDims(array.rank(), {dimension});
  return {Pick(array.dims(), others), Pick(strides, others), array.dim(dimension), strides[dimension]};
}

std::vector<WideScalar> LoadLine(const Literal& array, int64_t start, const Lines& lines) {
  const ScalarLoad load = ScalarLoader(array.type());
  std::vector<WideScalar> line(lines.length);
  for (int64_t t = 0; t < lines.length; ++t) line[t] = load(array.data(), start + t * lines.stride);
  return line;
}

std::vector<int64_t> Iota(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

// Each line along the dimension in the order that `to_apply` ("a before b") gives, all operands alike.
// Stable.
absl::StatusOr<Literal> Sort(OpContext& context) {
  const absl::Span<const Literal> operands = context.operands;
  const Lines lines = LinesAlong(operands[0], context.instruction.Get<attr::dimensions>()[0]);
  HLO_ASSIGN_OR_RETURN(const auto comparator,
                       ScalarFunction::Make(*context.instruction.Get<attr::to_apply>(), context.caller));
  std::vector<Literal> results(operands.begin(), operands.end());
  for (Literal& result : results) {
    HLO_RETURN_IF_ERROR(result.MakeUnique());
  }
  std::vector<std::vector<WideScalar>> line(operands.size());
  std::vector<WideScalar> arguments(2 * operands.size());
  WideScalar answer;
  auto before = [&](int64_t a, int64_t b) -> absl::StatusOr<bool> {
    for (size_t k = 0; k < operands.size(); ++k) {
      arguments[2 * k] = line[k][a];
      arguments[2 * k + 1] = line[k][b];
    }
    HLO_RETURN_IF_ERROR(comparator->Run(arguments, absl::MakeSpan(&answer, 1)));
    return answer.u != 0;
  };
  for (const Index& i : EachIndex(lines.starts)) {
    const int64_t start = Offset(i, lines.strides);
    for (size_t k = 0; k < operands.size(); ++k) line[k] = LoadLine(operands[k], start, lines);
    std::vector<int64_t> order = Iota(lines.length);
    HLO_RETURN_IF_ERROR(StableSort(order, before));
    for (size_t k = 0; k < operands.size(); ++k) {
      const int64_t width = ByteCount(operands[k].type());
      for (int64_t t = 0; t < lines.length; ++t) {
        std::memcpy(results[k].mutable_data() + (start + t * lines.stride) * width,
                    operands[k].data() + (start + order[t] * lines.stride) * width, width);
      }
    }
  }
  return context.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

namespace {

// For each line along the last dimension the elements that come first, and their positions. `before(line, a,
// b)` compares two elements of a line; of equals the one that stands first comes first.
template <class Before>
absl::StatusOr<Literal> FirstOfLines(const Literal& operand, const Shape& shape, Before&& before) {
  const Lines lines = LinesAlong(operand, operand.rank() - 1);
  const int64_t width = ByteCount(operand.type());
  HLO_ASSIGN_OR_RETURN(Literal values, Literal::CreateZeros(shape.element(0)));
  HLO_ASSIGN_OR_RETURN(Literal positions, Literal::CreateZeros(shape.element(1)));
  const int64_t k = values.dim(values.rank() - 1);
  int64_t out = 0;
  for (const Index& i : EachIndex(lines.starts)) {
    const int64_t start = Offset(i, lines.strides);
    const std::vector<WideScalar> line = LoadLine(operand, start, lines);
    std::vector<int64_t> order = Iota(lines.length);
    HLO_RETURN_IF_ERROR(StableSort(order, [&](int64_t a, int64_t b) { return before(line, a, b); }));
    for (int64_t t = 0; t < std::min(k, lines.length); ++t) {
      std::memcpy(values.mutable_data() + (out + t) * width, operand.data() + (start + order[t]) * width,
                  width);
      positions.mutable_span<int32_t>()[out + t] = static_cast<int32_t>(order[t]);
    }
    out += k;
  }
  std::vector<Literal> results;
  results.push_back(std::move(values));
  results.push_back(std::move(positions));
  return Literal::Tuple(std::move(results));
}

// In the total order, downwards where `largest`.
absl::StatusOr<Literal> FirstInTotalOrder(const OpContext& context, bool largest) {
  const ScalarStep less = TotalOrderLess(context.operands[0].type());
  auto before = [&](const std::vector<WideScalar>& line, int64_t a, int64_t b) -> absl::StatusOr<bool> {
    return (largest ? less(line[b], line[a]) : less(line[a], line[b])).u != 0;
  };
  return FirstOfLines(context.operands[0], context.shape(), before);
}

}  // namespace

// The k largest or smallest of each line along the last dimension, best first, and their positions.
absl::StatusOr<Literal> Topk(OpContext& context) {
  return FirstInTotalOrder(context, context.instruction.Get<attr::largest>(true));
}

// A plain GT or LT of the first two parameters stands for the total order.
absl::StatusOr<Literal> TopkByComparator(OpContext& context) {
  const Computation& comparator = *context.instruction.called_computations()[0];
  const Instruction& root = *comparator.root();
  const ComparisonDirection direction = root.Get<attr::direction>();
  if (root.opcode() == Opcode::kCompare && root.operand(0) == comparator.parameter(0) &&
      root.operand(1) == comparator.parameter(1) &&
      (direction == ComparisonDirection::kGt || direction == ComparisonDirection::kLt))
    return FirstInTotalOrder(context, direction == ComparisonDirection::kGt);

  HLO_ASSIGN_OR_RETURN(const auto function, ScalarFunction::Make(comparator, context.caller));
  std::vector<WideScalar> arguments(
      comparator.parameters().size());  // Those after the first two are positions.
  WideScalar answer;
  auto before = [&](const std::vector<WideScalar>& line, int64_t a, int64_t b) -> absl::StatusOr<bool> {
    arguments[0] = line[a];
    arguments[1] = line[b];
    HLO_RETURN_IF_ERROR(function->Run(arguments, absl::MakeSpan(&answer, 1)));
    return answer.u != 0;
  };
  return FirstOfLines(context.operands[0], context.shape(), before);
}

}  // namespace hlo::reference
