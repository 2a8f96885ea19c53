#include "loops/gemm_problem.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hlo_run/module.h"
#include "types/promotion.h"

namespace hlo::loops {
namespace {

// Dimensions that both operands share, with their strides in each. The stride of a missing dimension is 0.
struct SharedDims {
  Index sizes, lhs, rhs;

  // Drops dimensions of size 1 and merges dimensions that are contiguous in both arrays.
  void Merge() {
    SharedDims merged;
    for (int64_t d = 0; d < sizes.rank(); ++d) {
      if (sizes[d] == 1) continue;
      const bool joins = !merged.sizes.empty() && merged.lhs.back() == lhs[d] * sizes[d] &&
                         merged.rhs.back() == rhs[d] * sizes[d];
      if (joins) {
        merged.sizes.back() *= sizes[d];
        merged.lhs.back() = lhs[d];
        merged.rhs.back() = rhs[d];
      } else {
        merged.sizes.push_back(sizes[d]);
        merged.lhs.push_back(lhs[d]);
        merged.rhs.push_back(rhs[d]);
      }
    }
    *this = std::move(merged);
  }

  // Sorts the contracting dimensions by decreasing stride in the lhs. The order of summation is unspecified.
  void Sort() {
    Index order = Zeros(sizes.rank());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return lhs[a] != lhs[b] ? lhs[a] > lhs[b] : a < b; });
    *this = {Pick(sizes, order), Pick(lhs, order), Pick(rhs, order)};
  }
};

Index FreeDims(const DotOperand& operand) {
  return OtherDims(static_cast<int64_t>(operand.dims.size()), operand.batch, operand.contracting);
}

// Sets a single stride if it suffices, otherwise all sizes and strides.
void SetStrides(const Index& sizes, const Index& strides, int64_t* stride, Index* all_sizes,
                Index* all_strides) {
  if (sizes.rank() <= 1) {
    *stride = sizes.empty() ? 1 : strides[0];
  } else {
    *all_sizes = sizes;
    *all_strides = strides;
  }
}

}  // namespace

ElementType GemmComputeType(ElementType a, ElementType b, ElementType c) {
  const auto is = [&](ElementType type) { return a == type || b == type || c == type; };
  if (IsComplex(c)) {
    return is(ElementType::kC128) || is(ElementType::kF64) ? ElementType::kC128 : ElementType::kC64;
  }
  if (IsIntegral(c)) return BitWidth(c) <= 32 ? ElementType::kU32 : ElementType::kU64;
  return is(ElementType::kF64) ? ElementType::kF64 : ElementType::kF32;
}

bool GemmSupports(ElementType a, ElementType b, ElementType c) { return ProductType(a, b, c) == c; }

GemmProblem DotProblem(const DotOperand& lhs, const DotOperand& rhs, ElementType out_type) {
  const Index lhs_strides = RowMajorStrides(lhs.dims), rhs_strides = RowMajorStrides(rhs.dims);
  const Index lhs_free = FreeDims(lhs), rhs_free = FreeDims(rhs);
  SharedDims batch{Pick(lhs.dims, lhs.batch), Pick(lhs_strides, lhs.batch), Pick(rhs_strides, rhs.batch)};
  SharedDims contracting{Pick(lhs.dims, lhs.contracting), Pick(lhs_strides, lhs.contracting),
                         Pick(rhs_strides, rhs.contracting)};
  SharedDims rows{Pick(lhs.dims, lhs_free), Pick(lhs_strides, lhs_free), Zeros(lhs_free.rank())};
  SharedDims columns{Pick(rhs.dims, rhs_free), Zeros(rhs_free.rank()), Pick(rhs_strides, rhs_free)};

  GemmProblem problem{.m = Product(rows.sizes), .n = Product(columns.sizes), .k = Product(contracting.sizes)};
  contracting.Sort();
  for (SharedDims* dims : {&batch, &contracting, &rows, &columns}) dims->Merge();
  problem.a.type = lhs.type;
  problem.b.type = rhs.type;
  MatrixLayout &a = problem.a, &b = problem.b;
  SetStrides(rows.sizes, rows.lhs, &a.row_stride, &a.row_sizes, &a.row_strides);
  SetStrides(contracting.sizes, contracting.lhs, &a.column_stride, &a.column_sizes, &a.column_strides);
  SetStrides(contracting.sizes, contracting.rhs, &b.row_stride, &b.row_sizes, &b.row_strides);
  SetStrides(columns.sizes, columns.rhs, &b.column_stride, &b.column_sizes, &b.column_strides);
  problem.batch_dims = batch.sizes;
  a.batch_strides = batch.lhs;
  b.batch_strides = batch.rhs;
  problem.c_type = out_type;
  problem.c_row_stride = problem.n;
  problem.c_batch_strides = RowMajorStrides(batch.sizes);
  for (int64_t& stride : problem.c_batch_strides) stride *= problem.m * problem.n;
  return problem;
}

GemmProblem DotProblem(const Instruction& dot) {
  const Shape &lhs = dot.operand(0)->shape(), &rhs = dot.operand(1)->shape();
  return DotProblem(
      {lhs.type(), lhs.dims(), dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()},
      {rhs.type(), rhs.dims(), dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()},
      dot.shape().type());
}

}  // namespace hlo::loops
