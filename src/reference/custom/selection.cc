// Targets that pick and order elements (semantics 9.3, 9.6).

#include <cstring>
#include <utility>

#include "base/status.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/signature.h"
#include "reference/sort.h"

namespace hlo::reference::custom {
namespace {

bool Descending(const OpContext& context) { return Options(context.instruction).Bool("descending", false); }

// The arrays, and zeros for the work space behind them.
absl::StatusOr<Literal> WithScratch(const Shape& shape, std::vector<Literal> results) {
  if (!shape.IsTuple()) return std::move(results[0]);
  for (size_t i = results.size(); i < shape.elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(shape.element(static_cast<int64_t>(i))));
    results.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace

std::string NotTopK(const Instruction& call) {
  const bool fits =
      call.called_computations().size() == 1 && call.called_computations()[0]->parameters().size() >= 2;
  return fits ? "" : "TopK takes a comparator of two elements";
}

// Lines along the last dimension in the total order. Stable.
absl::StatusOr<Literal> SortKeys(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal sorted, SortedLines(context.operands[0], Descending(context)));
  return WithScratch(context.shape(), {std::move(sorted.mutable_elements()[0])});
}

// The values move with their keys.
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

// Sums along the rows of [vector, row, column], inclusive, from the first row on or from the last.
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

}  // namespace hlo::reference::custom
