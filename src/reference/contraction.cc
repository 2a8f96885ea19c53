#include "reference/contraction.h"

#include <algorithm>
#include <memory>

#include "base/deadline.h"
#include "base/status.h"

namespace hlo::reference {
namespace {

// A matrix of any type that the wide type W represents, by rows.
template <Wide W>
class Rows {
 public:
  Rows(const Literal& array, int64_t offset, int64_t columns)
      : array_(array), offset_(offset), columns_(columns) {}

  bool is_wide() const { return array_.type() == WideType<W>(); }
  // Returns `count` elements of each of `rows` rows, from (row, column), as a matrix with *stride columns.
  const W* Load(int64_t row, int64_t rows, int64_t column, int64_t count, int64_t* stride) {
    const int64_t first = offset_ + row * columns_ + column;
    if (is_wide()) {
      *stride = columns_;
      return array_.span<W>().data() + first;
    }
    *stride = count;
    if (block_ == nullptr || block_size_ < rows * count) {
      block_size_ = rows * count;
      block_ = std::make_unique<W[]>(static_cast<size_t>(block_size_));
    }
    for (int64_t r = 0; r < rows; ++r)
      LoadWide(array_, first + r * columns_, count, block_.get() + r * count);
    return block_.get();
  }

 private:
  const Literal& array_;
  int64_t offset_, columns_;
  std::unique_ptr<W[]> block_;  // An array, because a vector of bool has no pointers.
  int64_t block_size_ = 0;
};

// Returns the value with which sums of this many products begin: +0, or -0 for a single product, which keeps
// its sign.
template <Wide W>
W EmptySum(int64_t products) {
  if constexpr (std::is_same_v<W, double>) return products == 1 ? -0.0 : 0.0;
  if constexpr (std::is_same_v<W, std::complex<double>>) return products == 1 ? W{-0.0, -0.0} : W{};
  return W{};
}

// out[m, n] = sum over k of a[m, k] * b[k, n], with k ascending. Blocks of a few rows share each pass over b.
// Narrow operands are widened in blocks, because wide copies of large ones may not fit in memory.
template <Wide W>
void MultiplyMatrices(int64_t m_size, int64_t k_size, int64_t n_size, Rows<W> a, Rows<W> b, W* out) {
  constexpr int64_t kRows = 8, kBlockElements = 1 << 18, kLeastDepth = 16;
  std::fill_n(out, m_size * n_size, EmptySum<W>(k_size));
  if (k_size == 0 || n_size == 0) return;
  const int64_t depth = a.is_wide() && b.is_wide() ? k_size : std::max(kLeastDepth, kBlockElements / n_size);
  for (int64_t k0 = 0; k0 < k_size; k0 += depth) {
    const int64_t count = std::min(depth, k_size - k0);
    int64_t b_stride = 0, a_stride = 0;
    const W* from_b = b.Load(k0, count, 0, n_size, &b_stride);
    for (int64_t first = 0; first < m_size; first += kRows) {
      const int64_t rows = std::min(kRows, m_size - first);
      const W* from_a = a.Load(first, rows, k0, count, &a_stride);
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t m = 0; m < rows; ++m)
          AddScaled(from_a[m * a_stride + k], from_b + k * b_stride, n_size, out + (first + m) * n_size);
      }
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

absl::StatusOr<Literal> DotSum(const Literal& lhs, const DotDims& l, const Literal& rhs, const DotDims& r,
                               ElementType type) {
  const Index batch = Pick(lhs.dims(), l.batch), lhs_free = Pick(lhs.dims(), l.free),
              rhs_free = Pick(rhs.dims(), r.free);
  HLO_ASSIGN_OR_RETURN(const Literal a, Transposed(lhs, Concat(l.batch, l.free, l.contracting)));
  HLO_ASSIGN_OR_RETURN(const Literal b, Transposed(rhs, Concat(r.batch, r.contracting, r.free)));
  HLO_ASSIGN_OR_RETURN(Literal sum, Literal::Create(Shape::Array(type, Concat(batch, lhs_free, rhs_free))));
  const int64_t m = Product(lhs_free), k = Product(Pick(lhs.dims(), l.contracting)), n = Product(rhs_free);
  const int64_t rows = RowsBetweenDeadlineChecks(k, n);
  const absl::Status status = DispatchWide(type, [&]<class W>() {
    for (int64_t i = 0; i < Product(batch); ++i) {
      for (int64_t row = 0; row < m; row += rows) {
        MultiplyMatrices(std::min(rows, m - row), k, n, Rows<W>(a, (i * m + row) * k, k),
                         Rows<W>(b, i * k * n, n), sum.mutable_span<W>().data() + (i * m + row) * n);
        HLO_RETURN_IF_ERROR(Deadline::Check());
      }
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return sum;
}

}  // namespace hlo::reference
