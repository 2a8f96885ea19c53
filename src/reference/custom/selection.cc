// Custom calls that select and sort elements (semantics 9.3, 9.6).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/custom/as_instruction.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/signature.h"
#include "reference/sort.h"

namespace hlo::reference::custom {

Approximate ApproximateOf(const Instruction& call) {
  return {call.operand_count() / 2, Options(call).Int("reduction_dim", -1)};
}

namespace {

bool Descending(const OpContext& context) { return Options(context.instruction).Bool("descending", false); }

// Returns the arrays followed by a workspace of zeros.
absl::StatusOr<Literal> WithScratch(const Shape& shape, std::vector<Literal> results) {
  if (!shape.IsTuple()) return std::move(results[0]);
  for (size_t i = results.size(); i < shape.elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(shape.element(static_cast<int64_t>(i))));
    results.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace

std::string TopKByComparatorMismatch(const Instruction& call) {
  bool fits = call.called_computations().size() == 1;
  if (fits) {
    const Computation& comparator = *call.called_computations()[0];
    const ElementType type = call.operand(0)->shape().type();
    fits = comparator.parameters().size() >= 2 && comparator.root()->shape().IsScalar(ElementType::kPred);
    for (int64_t i = 0; fits && i < 2; ++i) fits = comparator.parameter(i)->shape().IsScalar(type);
  }
  return fits ? "" : "TopK takes a comparator of two elements";
}

std::string NoOrder(const Instruction& call) {
  const ElementType type = call.operand(0)->shape().type();
  return IsComplex(type) ? fmt::format("has no meaning for {}", Name(type)) : "";
}

// Sorts along the last dimension in total order, stably.
absl::StatusOr<Literal> SortKeys(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal sorted, SortedLines(context.operands[0], Descending(context)));
  return WithScratch(context.shape(), {std::move(sorted.mutable_elements()[0])});
}

// The values are permuted with their keys.
absl::StatusOr<Literal> SortPairs(OpContext& context) {
  const Literal& values = context.operands[1];
  HLO_ASSIGN_OR_RETURN(Literal sorted, SortedLines(context.operands[0], Descending(context)));
  HLO_ASSIGN_OR_RETURN(Literal moved, Literal::Create(values.shape()));
  const int64_t width = ByteCount(values.type()), line = values.dim(values.rank() - 1);
  const auto from = sorted.element(1).span<int32_t>();
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const int64_t start = i - i % line;
    std::memcpy(moved.mutable_data() + i * width, values.data() + (start + from[i]) * width, width);
  }
  return WithScratch(context.shape(), {std::move(sorted.mutable_elements()[0]), std::move(moved)});
}

std::string RadixSortMismatch(const Instruction& call) {
  if (call.operand_count() == 2) {
    const absl::Span<const Shape> results = ResultShapes(call);
    const Shape& values = call.operand(1)->shape();
    if (results.size() < 2 || !Compatible(results[1], values))
      return fmt::format("sorts {} with the keys, but does not return it", ToString(values));
  }
  return NoOrder(call);
}

// Sorts keys, or keys with values.
absl::StatusOr<Literal> RadixSort(OpContext& context) {
  return context.operands.size() == 1 ? SortKeys(context) : SortPairs(context);
}

// Returns inclusive prefix sums along the rows of [vector, row, column], or suffix sums.
absl::StatusOr<Literal> RunningSum(OpContext& context) {
  const Options options(context.instruction);
  const Shape& shape = ResultShapes(context.instruction)[0];
  const ElementType type = IsComplex(shape.type()) ? ElementType::kC128
                           : IsFloat(shape.type()) ? ElementType::kF64
                                                   : ElementType::kU64;
  HLO_ASSIGN_OR_RETURN(Literal sums, Widened(context.operands[0], type));
  HLO_RETURN_IF_ERROR(sums.MakeUnique());
  const int64_t rows = options.Int("row_length", 1), columns = options.Int("column_length", 1);
  if (rows < 1 || columns < 1 || rows > sums.element_count() || columns > sums.element_count() ||
      sums.element_count() % rows != 0 || sums.element_count() / rows % columns != 0) {
    return absl::FailedPreconditionError("row_length and column_length do not divide the array");
  }
  const bool reverse = options.Bool("is_reverse", false);
  DispatchWide(type, [&]<class W>() {
    if constexpr (!std::is_same_v<W, bool>) {
      W* data = sums.mutable_span<W>().data();
      for (int64_t start = 0; start < sums.element_count(); start += rows * columns) {
        for (int64_t c = 0; c < columns; ++c) {
          for (int64_t t = 1; t < rows; ++t) {
            const int64_t row = reverse ? rows - 1 - t : t, before = reverse ? row + 1 : row - 1;
            data[start + row * columns + c] += data[start + before * columns + c];
          }
        }
      }
    }
  });
  HLO_ASSIGN_OR_RETURN(Literal result, Rounded(sums, shape));
  return WithScratch(context.shape(), {std::move(result)});
}

namespace {

int64_t CeilLog2(int64_t n) { return n <= 1 ? 0 : std::bit_width(static_cast<uint64_t>(n - 1)); }
int64_t CeilDivide(int64_t n, int64_t d) { return n / d + (n % d != 0 ? 1 : 0); }

// Returns the number of the n elements that an approximate top-k keeps unless it reduces them to k.
int64_t ApproximateSize(const Options& options, int64_t n, int64_t rank) {
  const int64_t k = options.Int("top_k", 0), tile = rank == 1 ? 1024 : 128;
  const int64_t whole = options.Int("reduction_input_size_override", -1), length = whole >= 0 ? whole : n;
  const auto recall = static_cast<float>(options.Number("recall_target", 1));
  if (n <= tile) return n;
  if (k == 1) return tile;
  if (recall == 1) return n;
  const double wanted = (1 - static_cast<double>(k)) / std::log(static_cast<double>(recall));
  if (length < 1 || !(wanted < static_cast<double>(length))) return n;
  const int64_t m = std::min(static_cast<int64_t>(std::max(wanted, static_cast<double>(tile))), length);
  int64_t reduction = std::bit_width(static_cast<uint64_t>(length / m)) - 1;
  if (reduction <= 0) return n;
  reduction = std::min(reduction, CeilLog2(n / tile));
  return CeilDivide(CeilDivide(n, tile), int64_t{1} << reduction) * tile;
}

std::string ApproximateMismatch(const Instruction& call, bool has_count) {
  const Approximate form = ApproximateOf(call);
  const int64_t operands = call.operand_count() - (has_count ? 1 : 0);
  const absl::Span<const Shape> results = ResultShapes(call);
  if (operands < 2 || operands % 2 != 0 || call.called_computations().size() != 1 ||
      static_cast<int64_t>(results.size()) != form.arrays)
    return "takes arrays, as many initial values and a comparator, and gives as many arrays";
  const Shape& x = call.operand(0)->shape();
  if (!x.IsArray() || form.dimension < 0 || form.dimension >= x.rank())
    return fmt::format("reduction_dim {} is not a dimension of {}", form.dimension, ToString(x));
  std::vector<Shape> sorted;
  for (int64_t i = 0; i < form.arrays; ++i) {
    sorted.push_back(call.operand(i)->shape());
    bool fits =
        sorted[i].IsArray(results[i].type()) && results[i].rank() == x.rank() && sorted[i].dims() == x.dims();
    for (int64_t d = 0; fits && d < x.rank(); ++d)
      fits = d == form.dimension ? results[i].dim(d) <= x.dim(d) : results[i].dim(d) == x.dim(d);
    if (!fits) return fmt::format("{} of {} is not a part of it", ToString(results[i]), ToString(sorted[i]));
  }
  const int64_t dimensions[] = {form.dimension};
  return FormMismatch(
      {Opcode::kSort,
       {Attribute<attr::dimensions>(dimensions), Attribute<attr::to_apply>(call.called_computations()[0])},
       form.arrays == 1 ? sorted[0] : Shape::Tuple(sorted)},
      sorted);
}

}  // namespace

std::string ApproxTopKMismatch(const Instruction& call) {
  std::string misfit = ApproximateMismatch(call, /*has_count=*/false);
  if (!misfit.empty()) return misfit;
  const Options options(call);
  const int64_t dimension = options.Int("reduction_dim", -1);
  const Shape& x = call.operand(0)->shape();
  const int64_t wanted = options.Bool("aggregate_to_topk", false)
                             ? options.Int("top_k", 0)
                             : ApproximateSize(options, x.dim(dimension), x.rank());
  const int64_t given = ResultShapes(call)[0].dim(dimension);
  return wanted == given
             ? ""
             : fmt::format("it keeps {}, but its result has {}", Counted(wanted, "element"), given);
}

// Windows may contain any elements, so each of the best may be the result of a separate window.
std::string PartialReduceMismatch(const Instruction& call) {
  return ApproximateMismatch(call, /*has_count=*/false);
}
std::string DynamicApproxTopKMismatch(const Instruction& call) {
  const Shape& count = call.operand(call.operand_count() - 1)->shape();
  if (!count.IsArray() || !IsIntegral(count.type()) || count.ElementCount() != 1)
    return fmt::format("its last operand is the number of elements to keep, not {}", ToString(count));
  return ApproximateMismatch(call, /*has_count=*/true);
}

// Returns the arrays sorted together by the comparator, truncated to the result sizes.
absl::StatusOr<Literal> ApproxTopK(OpContext& context) {
  const Approximate form = ApproximateOf(context.instruction);
  const absl::Span<const Shape> shapes = ResultShapes(context.instruction);
  if (static_cast<int64_t>(context.operands.size()) > 2 * form.arrays) {
    HLO_ASSIGN_OR_RETURN(const Literal count, AsIndices(context.operands.back()));
    if (count.span<int64_t>()[0] != shapes[0].dim(form.dimension)) {
      return absl::FailedPreconditionError(fmt::format("the last operand asks for {}, but the result has {}",
                                                       Counted(count.span<int64_t>()[0], "element"),
                                                       shapes[0].dim(form.dimension)));
    }
  }
  std::vector<Literal> arrays(context.operands.begin(), context.operands.begin() + form.arrays);
  std::vector<Shape> sorted_shapes;
  for (const Literal& array : arrays) sorted_shapes.push_back(array.shape());
  const int64_t dimensions[] = {form.dimension};
  const InstructionForm sort{Opcode::kSort,
                             {Attribute<attr::dimensions>(dimensions),
                              Attribute<attr::to_apply>(context.instruction.called_computations()[0])},
                             form.arrays == 1 ? sorted_shapes[0] : Shape::Tuple(sorted_shapes)};
  HLO_ASSIGN_OR_RETURN(const Literal sorted, RunForm(context, sort, std::move(arrays)));
  std::vector<Literal> results;
  for (int64_t i = 0; i < form.arrays; ++i) {
    const Literal& array = form.arrays == 1 ? sorted : sorted.element(i);
    const View first = View::Dense(array.dims()).Window(hlo::Zeros(array.rank()), shapes[i].dims());
    HLO_ASSIGN_OR_RETURN(Literal result, Copied(array, first, shapes[i]));
    results.push_back(std::move(result));
  }
  return context.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace hlo::reference::custom
