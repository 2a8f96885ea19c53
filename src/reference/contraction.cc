#include "reference/contraction.h"

#include <algorithm>

#include "base/deadline.h"
#include "base/status.h"

namespace hlo::reference {
namespace {

// out[m, n] = sum over k of a[m, k] * b[k, n], with k ascending. Blocks of a few rows share each pass over b.
template <Wide W>
void MultiplyMatrices(int64_t m_size, int64_t k_size, int64_t n_size, const W* a, const W* b, W* out) {
  constexpr int64_t kRows = 8;
  std::fill_n(out, m_size * n_size, W{});
  for (int64_t first = 0; first < m_size; first += kRows) {
    const int64_t last = std::min(first + kRows, m_size);
    for (int64_t k = 0; k < k_size; ++k) {
      for (int64_t m = first; m < last; ++m)
        AddScaled(a[m * k_size + k], b + k * n_size, n_size, out + m * n_size);
    }
  }
}

}  // namespace

ElementType ContractionType(ElementType product) {
  return DispatchWide(product, []<class W>() { return WideType<W>(); });
}

absl::StatusOr<Literal> RoundedSum(const Literal& wide, ElementType product, const Shape& shape) {
  if (product == shape.type()) return Rounded(wide, shape);
  HLO_ASSIGN_OR_RETURN(const Literal rounded, Rounded(wide, Shape::Array(product, wide.dims())));
  HLO_ASSIGN_OR_RETURN(const Literal exact, Widened(rounded, ContractionType(product)));
  return Rounded(exact, shape);
}

DotDims LhsDims(const Instruction& dot) {
  const IntList batch = dot.Get<attr::lhs_batch_dims>(), contracting = dot.Get<attr::lhs_contracting_dims>();
  return {batch, contracting, OtherDims(dot.operand(0)->shape().rank(), batch, contracting)};
}

DotDims RhsDims(const Instruction& dot) {
  const IntList batch = dot.Get<attr::rhs_batch_dims>(), contracting = dot.Get<attr::rhs_contracting_dims>();
  return {batch, contracting, OtherDims(dot.operand(1)->shape().rank(), batch, contracting)};
}

Index Concat(Index a, const Index& b, const Index& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

namespace {

// Returns the number of rows whose products take a fraction of a second, between checks of the deadline.
int64_t RowsBetweenDeadlineChecks(int64_t k, int64_t n) {
  constexpr int64_t kProducts = int64_t{1} << 27;
  const int64_t in_a_row = std::max<int64_t>(k, 1) * std::max<int64_t>(n, 1);
  return std::max<int64_t>(1, kProducts / in_a_row);
}

}  // namespace

absl::StatusOr<Literal> DotSum(const Literal& lhs, const DotDims& l, const Literal& rhs, const DotDims& r) {
  const Index batch = Pick(lhs.dims(), l.batch), lhs_free = Pick(lhs.dims(), l.free),
              rhs_free = Pick(rhs.dims(), r.free);
  HLO_ASSIGN_OR_RETURN(const Literal a, Transposed(lhs, Concat(l.batch, l.free, l.contracting)));
  HLO_ASSIGN_OR_RETURN(const Literal b, Transposed(rhs, Concat(r.batch, r.contracting, r.free)));
  HLO_ASSIGN_OR_RETURN(Literal sum,
                       Literal::Create(Shape::Array(lhs.type(), Concat(batch, lhs_free, rhs_free))));
  const int64_t m = Product(lhs_free), k = Product(Pick(lhs.dims(), l.contracting)), n = Product(rhs_free);
  const int64_t rows = RowsBetweenDeadlineChecks(k, n);
  const absl::Status status = DispatchWide(lhs.type(), [&]<class W>() {
    for (int64_t i = 0; i < Product(batch); ++i) {
      for (int64_t row = 0; row < m; row += rows) {
        MultiplyMatrices(std::min(rows, m - row), k, n, a.span<W>().data() + (i * m + row) * k,
                         b.span<W>().data() + i * k * n, sum.mutable_span<W>().data() + (i * m + row) * n);
        HLO_RETURN_IF_ERROR(Deadline::Check());
      }
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return sum;
}

}  // namespace hlo::reference
