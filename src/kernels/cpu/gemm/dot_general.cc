#include "kernels/cpu/gemm/dot_general.h"

#include <algorithm>
#include <numeric>

namespace hlo::cpu {
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

Index FreeDims(const DenseArray& array, const DotSide& side) {
  return OtherDims(static_cast<int64_t>(array.dims.size()), side.batch, side.contracting);
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

GemmProblem DotProblem(const DenseArray& lhs, const DotSide& lhs_dims, const DenseArray& rhs,
                       const DotSide& rhs_dims, void* out, ElementType out_type) {
  const Index lhs_strides = RowMajorStrides(lhs.dims), rhs_strides = RowMajorStrides(rhs.dims);
  const Index lhs_free = FreeDims(lhs, lhs_dims), rhs_free = FreeDims(rhs, rhs_dims);
  SharedDims batch{Pick(lhs.dims, lhs_dims.batch), Pick(lhs_strides, lhs_dims.batch),
                   Pick(rhs_strides, rhs_dims.batch)};
  SharedDims contracting{Pick(lhs.dims, lhs_dims.contracting), Pick(lhs_strides, lhs_dims.contracting),
                         Pick(rhs_strides, rhs_dims.contracting)};
  SharedDims rows{Pick(lhs.dims, lhs_free), Pick(lhs_strides, lhs_free), Zeros(lhs_free.rank())};
  SharedDims columns{Pick(rhs.dims, rhs_free), Zeros(rhs_free.rank()), Pick(rhs_strides, rhs_free)};

  GemmProblem problem{.m = Product(rows.sizes), .n = Product(columns.sizes), .k = Product(contracting.sizes)};
  contracting.Sort();
  for (SharedDims* dims : {&batch, &contracting, &rows, &columns}) dims->Merge();
  problem.a.data = lhs.data;
  problem.a.type = lhs.type;
  problem.b.data = rhs.data;
  problem.b.type = rhs.type;
  GemmOperand &a = problem.a, &b = problem.b;
  SetStrides(rows.sizes, rows.lhs, &a.row_stride, &a.row_sizes, &a.row_strides);
  SetStrides(contracting.sizes, contracting.lhs, &a.column_stride, &a.column_sizes, &a.column_strides);
  SetStrides(contracting.sizes, contracting.rhs, &b.row_stride, &b.row_sizes, &b.row_strides);
  SetStrides(columns.sizes, columns.rhs, &b.column_stride, &b.column_sizes, &b.column_strides);
  problem.batch_dims = batch.sizes;
  a.batch_strides = batch.lhs;
  b.batch_strides = batch.rhs;
  problem.c = out;
  problem.c_type = out_type;
  problem.c_row_stride = problem.n;
  problem.c_batch_strides = RowMajorStrides(batch.sizes);
  for (int64_t& stride : problem.c_batch_strides) stride *= problem.m * problem.n;
  return problem;
}

}  // namespace hlo::cpu
