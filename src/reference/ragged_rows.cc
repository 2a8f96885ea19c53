#include "reference/ragged_rows.h"

#include <algorithm>

#include "reference/arrays.h"
#include "reference/contraction.h"

namespace hlo::reference {
namespace {

// Returns the dimensions along which group sizes may differ: those before the ragged one, batch dimensions
// first.
Index PrefixDims(const DotDims& l, int64_t ragged_dim) {
  Index prefix;
  for (const Index* dims : {&l.batch, Contains(l.contracting, ragged_dim) ? &l.contracting : &l.free}) {
    for (int64_t d : *dims) {
      if (d == ragged_dim) return prefix;
      prefix.push_back(d);
    }
  }
  return prefix;
}

}  // namespace

absl::StatusOr<RaggedRows> RaggedRows::Make(const Instruction& dot, const Literal& lhs, const Literal& rhs,
                                            const Literal& group_sizes) {
  const DotDims l = LhsDims(dot);
  DotDims r = RhsDims(dot);
  const Index group_dims = dot.Get<attr::rhs_group_dims>();
  r.free = OtherDims(rhs.rank(), Concat(r.batch, r.contracting, group_dims));
  const int64_t ragged_dim = dot.Get<attr::lhs_ragged_dims>()[0];
  RaggedRows rows;
  rows.lhs_order_ = Concat(l.batch, l.free, l.contracting);
  rows.rhs_order_ = Concat(Concat(group_dims, r.batch, r.contracting), r.free, {});
  rows.lhs_dims_ = Pick(lhs.dims(), rows.lhs_order_);
  rows.m_ = Product(Pick(lhs.dims(), l.free));
  rows.k_ = Product(Pick(lhs.dims(), l.contracting));
  rows.n_ = Product(Pick(rhs.dims(), r.free));
  if (!group_dims.empty())
    rows.rhs_group_ = rhs.element_count() / std::max<int64_t>(1, Product(Pick(rhs.dims(), group_dims)));
  if (Contains(l.contracting, ragged_dim))
    rows.result_group_ = Product(Pick(lhs.dims(), Concat(l.batch, l.free, {}))) * rows.n_;
  // group_sizes is [sizes] for every prefix, or [prefix dimensions..., sizes].
  Index prefix_dims = PrefixDims(l, ragged_dim);
  if (group_sizes.rank() == 1) prefix_dims.clear();
  HLO_ASSIGN_OR_RETURN(const Literal sizes, AsIndices(group_sizes));
  Index strides = Zeros(lhs.rank());
  strides[ragged_dim] = 1;
  int64_t stride = lhs.dim(ragged_dim);
  for (int64_t p = prefix_dims.rank() - 1; p >= 0; --p) {
    strides[prefix_dims[p]] = stride;
    stride *= lhs.dim(prefix_dims[p]);
  }
  rows.group_strides_ = Pick(strides, rows.lhs_order_);
  rows.SetGroups(sizes.span<int64_t>(), group_sizes.dim(group_sizes.rank() - 1), lhs.dim(ragged_dim),
                 Product(Pick(lhs.dims(), prefix_dims)));
  return rows;
}

// Group g contains the positions from the end of group g - 1 up to sizes[0] + ... + sizes[g].
void RaggedRows::SetGroups(absl::Span<const int64_t> sizes, int64_t count, int64_t extent, int64_t prefixes) {
  group_of_.assign(prefixes * extent, kNone);
  for (int64_t p = 0; p < prefixes; ++p) {
    int64_t end = 0;
    for (int64_t g = 0; g < count; ++g) {
      const int64_t start = end;
      end = std::clamp<int64_t>(start + std::clamp(sizes[p * count + g], -extent, extent), 0, extent);
      for (int64_t i = start; i < end; ++i) group_of_[p * extent + i] = g;
    }
  }
}

}  // namespace hlo::reference
