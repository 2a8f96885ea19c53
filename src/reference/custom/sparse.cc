// Calls with sparse matrices in CSR form (semantics 9.5): row i has values[p] in column columns[p] for
// offsets[i] <= p < offsets[i + 1].

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "reference/custom/slices.h"
#include "reference/lapack/systems.h"
#include "types/dispatch.h"

namespace hlo::reference::custom {
namespace {

// The positions of the values of a matrix.
template <class Index>
struct Csr {
  absl::Span<const Index> columns, offsets;
  int64_t row_count = 0;
};

template <class Index>
absl::Status CheckPositions(const Csr<Index>& a, int64_t value_count, int64_t column_count) {
  for (int64_t i = 0; i < a.row_count; ++i) {
    if (a.offsets[i] < 0 || a.offsets[i] > a.offsets[i + 1] || a.offsets[i + 1] > value_count)
      return absl::FailedPreconditionError(fmt::format("row {} extends from {} to {} of {}", i, a.offsets[i],
                                                       a.offsets[i + 1], Counted(value_count, "value")));
    for (int64_t p = a.offsets[i]; p < a.offsets[i + 1]; ++p) {
      if (a.columns[p] < 0 || a.columns[p] >= column_count)
        return absl::FailedPreconditionError(
            fmt::format("value {} is in column {} of {}", p, a.columns[p], column_count));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string CsrMismatch(const Instruction& call) {
  const int64_t n = call.operand(3)->shape().dim(0);
  constexpr int64_t kLargest = 1 << 11;
  if (n > kLargest) return fmt::format("solves up to {} equations, but there are {}", kLargest, n);
  if (call.operand(2)->shape().dim(0) == n + 1) return "";
  return fmt::format("the rows of {} equations begin at {} places, not {}", n, n + 1,
                     call.operand(2)->shape().dim(0));
}

// Solves a x = b.
absl::StatusOr<Literal> Csrlsvqr(OpContext& context) {
  const int64_t n = context.operands[3].dim(0);
  const Csr<int32_t> a = {context.operands[1].span<int32_t>(), context.operands[2].span<int32_t>(), n};
  HLO_RETURN_IF_ERROR(CheckPositions(a, context.operands[0].dim(0), n));
  return EachSlice(context, 3, 0, [&]<class T>(Slice<T> slice) {
    if (n == 0) return absl::OkStatus();
    std::vector<T> dense(n * n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = a.offsets[i]; p < a.offsets[i + 1]; ++p)
        dense[i * n + a.columns[p]] += slice.template in_vector<T>(0)[p];
    }
    return lapack::LeastSquares(Matrix<const T>::Dense(dense.data(), n, n),
                                Matrix<const T>::Dense(slice.template in_vector<T>(3).data(), n, 1),
                                Matrix<T>::Dense(slice.vector(0).data(), n, 1));
  });
}

std::string CsrTimesDenseMismatch(const Instruction& call) {
  const Shape &dense = call.operand(3)->shape(), &result = call.shape();
  const ElementType index = call.operand(1)->shape().type();
  if (index != ElementType::kS32 && index != ElementType::kS64)
    return fmt::format("the offsets and columns are s32 or s64, not {}", Name(index));
  if (dense.rank() != 1 && dense.rank() != 2)
    return fmt::format("the dense operand has 1 or 2 dimensions, not {}", dense.rank());
  if (result.rank() != dense.rank()) return "the result has as many dimensions as the dense operand";
  const int64_t rows = call.operand(1)->shape().dim(0) - 1;
  if (result.dim(0) != rows)
    return fmt::format("the offsets are of {}, the result has {}", Counted(rows, "row"), result.dim(0));
  if (dense.rank() == 1 || result.dim(1) == dense.dim(1)) return "";
  return fmt::format("the dense operand has {}, the result {}", Counted(dense.dim(1), "column"),
                     result.dim(1));
}

namespace {

template <class Index>
absl::StatusOr<Literal> TimesDense(OpContext& context) {
  const Literal& dense = context.operands[3];
  const int64_t width = dense.rank() == 1 ? 1 : dense.dim(1);
  const Csr<Index> a = {context.operands[2].span<Index>(), context.operands[1].span<Index>(),
                        context.operands[1].dim(0) - 1};
  HLO_RETURN_IF_ERROR(CheckPositions(a, context.operands[0].dim(0), dense.dim(0)));
  return DispatchWide(dense.type(), [&]<Wide W>() -> absl::StatusOr<Literal> {
    constexpr ElementType kWide = WideType<W>();
    HLO_ASSIGN_OR_RETURN(const Literal values, Widened(context.operands[0], kWide));
    HLO_ASSIGN_OR_RETURN(const Literal right, Widened(dense, kWide));
    HLO_ASSIGN_OR_RETURN(Literal product, Literal::CreateZeros(Shape::Array(kWide, context.shape().dims())));
    const auto value = values.span<W>(), x = right.span<W>();
    const auto y = product.mutable_span<W>();
    for (int64_t i = 0; i < a.row_count; ++i) {
      for (int64_t p = a.offsets[i]; p < a.offsets[i + 1]; ++p) {
        for (int64_t j = 0; j < width; ++j) y[i * width + j] += value[p] * x[a.columns[p] * width + j];
      }
    }
    return Rounded(product, context.shape());
  });
}

}  // namespace

// The product of a sparse matrix and a dense vector or matrix.
absl::StatusOr<Literal> CsrTimesDense(OpContext& context) {
  return context.operands[1].type() == ElementType::kS64 ? TimesDense<int64_t>(context)
                                                         : TimesDense<int32_t>(context);
}

}  // namespace hlo::reference::custom
