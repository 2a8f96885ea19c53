// Shape rules of gather and scatter (shape-rules 3.18).

#include <algorithm>

#include "base/counted.h"
#include "check/support.h"
#include "check/window.h"

namespace hlo::check {
namespace {

constexpr std::string_view kGatherScatterRule = "3.18";

// The shape of the index operand: the index vector dimension and the batch dimensions.
class IndexShape {
 public:
  IndexShape(const Shape& shape, int64_t vector_dim) : shape_(shape), vector_dim_(vector_dim) {}

  // Includes the implicit trailing dimension of size 1.
  int64_t expanded_rank() const { return shape_.rank() + (vector_dim_ == shape_.rank() ? 1 : 0); }
  int64_t vector_size() const { return vector_dim_ == shape_.rank() ? 1 : shape_.dim(vector_dim_); }
  int64_t batch_rank() const { return expanded_rank() - 1; }
  // Returns the dimension number of batch dimension i.
  int64_t BatchDim(int64_t i) const { return i < vector_dim_ ? i : i + 1; }

 private:
  const Shape& shape_;
  int64_t vector_dim_;
};

bool CheckIndices(RuleContext& c, int64_t operand, int64_t vector_dim) {
  if (!RequireArray(c, operand, kGatherScatterRule) ||
      !RequireType(c, operand, kIntegralSet, kGatherScatterRule))
    return false;
  const Shape& indices = c.operand(operand);
  if (vector_dim >= 0 && vector_dim <= indices.rank()) return true;
  c.NoteOperand(c.Error(c.range_of<attr::index_vector_dim>(), kGatherScatterRule,
                        "index_vector_dim is {}, but it must be in 0..{}", vector_dim, indices.rank()),
                operand);
  return false;
}

// The dimension numbers that gather and scatter have in common.
struct IndexedDims {
  const Shape& array;      // The indexed operand.
  IntList absent;          // collapsed_slice_dims or inserted_window_dims.
  IntList batching;        // operand_batching_dims or input_batching_dims.
  IntList index_map;       // start_index_map or scatter_dims_to_operand_dims.
  IntList index_batching;  // start_indices_batching_dims or scatter_indices_batching_dims.
  SourceRange absent_at, batching_at, map_at, index_batching_at;
  std::string_view absent_name, batching_name, map_name, index_batching_name;
};

bool CheckIndexedDims(RuleContext& c, const IndexedDims& d, const IndexShape& indices) {
  const int64_t rank = d.array.rank();
  bool ok = true;
  if (!SizesMatch(static_cast<int64_t>(d.index_map.size()), indices.vector_size())) {
    c.Error(d.map_at, kGatherScatterRule, "{} {} must have an entry for each of the {} parts of an index",
            d.map_name, Text(d.index_map), indices.vector_size());
    ok = false;
  }
  ok &= RequireDistinctDimensions(c, d.map_at, kGatherScatterRule, d.map_name, d.index_map, rank);
  ok &= RequireAscendingDimensions(c, d.absent_at, kGatherScatterRule, d.absent_name, d.absent, rank);
  ok &= RequireAscendingDimensions(c, d.batching_at, kGatherScatterRule, d.batching_name, d.batching, rank);
  ok &= RequireDistinctDimensions(c, d.index_batching_at, kGatherScatterRule, d.index_batching_name,
                                  d.index_batching, indices.expanded_rank());
  if (d.batching.size() != d.index_batching.size()) {
    c.Error(d.batching_at, kGatherScatterRule, "{} {} and {} {} pair up", d.batching_name, Text(d.batching),
            d.index_batching_name, Text(d.index_batching));
    ok = false;
  }
  return ok;
}

// Warns about dimension numbers that make indices ambiguous or out of bounds, which XLA does not check.
void WarnAboutOverlaps(RuleContext& c, const IndexedDims& d, const Shape& indices, int64_t vector_dim) {
  for (size_t i = 0; i < d.batching.size(); ++i) {
    if (Contains(d.absent, d.batching[i]) || Contains(d.index_map, d.batching[i])) {
      c.Warning(d.batching_at, kGatherScatterRule,
                "dimension {} is a batching dimension and also in {} or {}", d.batching[i], d.absent_name,
                d.map_name);
    }
    const int64_t other = d.index_batching[i];
    if (other == vector_dim) {
      c.Warning(d.index_batching_at, kGatherScatterRule, "{} names the index vector dimension {}",
                d.index_batching_name, other);
    } else if (other < indices.rank() && !SizesMatch(indices.dim(other), d.array.dim(d.batching[i]))) {
      c.Warning(d.batching_at, kGatherScatterRule, "paired batching dimensions have sizes {} and {}",
                SizeText(d.array.dim(d.batching[i])), SizeText(indices.dim(other)));
    }
  }
}

bool CheckSliceSizes(RuleContext& c, const Shape& x, IntList sizes, IntList collapsed, IntList batching) {
  const SourceRange at = c.range_of<attr::slice_sizes>();
  if (static_cast<int64_t>(sizes.size()) != x.rank()) {
    c.NoteOperand(c.Error(at, kGatherScatterRule, "slice_sizes {} must have a size for each dimension of {}",
                          Text(sizes), Text(x)),
                  0);
    return false;
  }
  bool ok = true;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool absent = Contains(collapsed, d) || Contains(batching, d);
    if (sizes[d] < 0 || (!x.IsUnbounded(d) && sizes[d] > x.dim(d))) {
      c.NoteOperand(c.Error(at, kGatherScatterRule, "the slice takes {} of dimension {}, which has {}",
                            Counted(sizes[d], "element"), d, SizeText(x.dim(d))),
                    0);
      ok = false;
    } else if (absent && sizes[d] > 1) {
      c.Error(at, kGatherScatterRule,
              "dimension {} does not appear in the result, so its slice size is at most 1, not {}", d,
              sizes[d]);
      ok = false;
    }
  }
  return ok;
}

}  // namespace

// Each index is the start of a slice; offset_dims are the result dimensions of the slice.
Inferred Gather(RuleContext& c) {
  if (!RequireArray(c, 0, kGatherScatterRule)) return Failed();
  const int64_t vector_dim = c.Get<attr::index_vector_dim>();
  if (!CheckIndices(c, 1, vector_dim)) return Failed();
  const Shape& x = c.operand(0);
  const Shape& starts = c.operand(1);
  const IndexShape indices(starts, vector_dim);
  const IndexedDims dims{x,
                         c.Get<attr::collapsed_slice_dims>(),
                         c.Get<attr::operand_batching_dims>(),
                         c.Get<attr::start_index_map>(),
                         c.Get<attr::start_indices_batching_dims>(),
                         c.range_of<attr::collapsed_slice_dims>(),
                         c.range_of<attr::operand_batching_dims>(),
                         c.range_of<attr::start_index_map>(),
                         c.range_of<attr::start_indices_batching_dims>(),
                         "collapsed_slice_dims",
                         "operand_batching_dims",
                         "start_index_map",
                         "start_indices_batching_dims"};
  const IntList offsets = c.Get<attr::offset_dims>();
  const IntList sizes = c.Get<attr::slice_sizes>();
  const int64_t rank = static_cast<int64_t>(offsets.size()) + indices.batch_rank();
  bool ok = CheckIndexedDims(c, dims, indices);
  ok &= RequireAscendingDimensions(c, c.range_of<attr::offset_dims>(), kGatherScatterRule, "offset_dims",
                                   offsets, rank);
  ok &= CheckSliceSizes(c, x, sizes, dims.absent, dims.batching);
  if (ok && offsets.size() + dims.absent.size() + dims.batching.size() != sizes.size()) {
    c.Error(c.range_of<attr::offset_dims>(), kGatherScatterRule,
            "offset_dims, collapsed_slice_dims and operand_batching_dims have {}, {} and {} entries; "
            "together they must have {}",
            offsets.size(), dims.absent.size(), dims.batching.size(), sizes.size());
    ok = false;
  }
  if (ok && rank > Shape::kMaxRank) {
    c.Error({}, kGatherScatterRule, "the result would have {}; at most {} are possible",
            Counted(rank, "dimension"), Shape::kMaxRank);
    ok = false;
  }
  if (!ok) return Failed();
  WarnAboutOverlaps(c, dims, starts, vector_dim);
  Shape result = Shape::Scalar(x.type());
  int64_t slice_dim = 0, batch_dim = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (Contains(offsets, i)) {
      while (Contains(dims.absent, slice_dim) || Contains(dims.batching, slice_dim)) ++slice_dim;
      // If the lists overlap, fewer dimensions than offsets remain.
      if (slice_dim >= x.rank()) break;
      result.AppendDim(sizes[slice_dim], x.IsDynamic(slice_dim) && sizes[slice_dim] == x.dim(slice_dim));
      ++slice_dim;
    } else {
      const int64_t d = indices.BatchDim(batch_dim++);
      result.AppendDim(starts.dim(d), starts.IsDynamic(d));
    }
  }
  return result;
}

namespace {

// Checks that the window dimensions of the updates fit the operand and the others equal the batch dimensions
// of the indices.
bool CheckUpdateSizes(RuleContext& c, int64_t i, const IndexedDims& dims, IntList window,
                      const IndexShape& indices, const Shape& starts) {
  const Shape& update = c.operand(i);
  int64_t array_dim = 0, batch_dim = 0;
  for (int64_t d = 0; d < update.rank(); ++d) {
    if (Contains(window, d)) {
      while (Contains(dims.absent, array_dim) || Contains(dims.batching, array_dim)) ++array_dim;
      if (array_dim >= dims.array.rank()) return false;
      const int64_t size = dims.array.dim(array_dim++);
      if (size == Shape::kUnbounded || update.dim(d) <= size) continue;
      c.NoteOperand(c.OperandError(i, kGatherScatterRule,
                                   "window dimension {} of the updates has size {}, but the operand has {}",
                                   d, update.dim(d), size),
                    0);
      return false;
    }
    const int64_t size = starts.dim(indices.BatchDim(batch_dim++));
    if (SizesMatch(update.dim(d), size)) continue;
    c.OperandError(i, kGatherScatterRule, "dimension {} of the updates has size {}, but the indices have {}",
                   d, SizeText(update.dim(d)), SizeText(size));
    return false;
  }
  return true;
}

bool CheckScattered(RuleContext& c, int64_t j, int64_t count, int64_t vector_dim) {
  const int64_t update_operand = count + 1 + j;
  const bool arrays = RequireArray(c, j, kGatherScatterRule);
  if (!RequireArray(c, update_operand, kGatherScatterRule) || !arrays) return false;
  const Shape& starts = c.operand(count);
  const Shape& update = c.operand(update_operand);
  const IndexShape indices(starts, vector_dim);
  const IndexedDims dims{c.operand(j),
                         c.Get<attr::inserted_window_dims>(),
                         c.Get<attr::input_batching_dims>(),
                         c.Get<attr::scatter_dims_to_operand_dims>(),
                         c.Get<attr::scatter_indices_batching_dims>(),
                         c.range_of<attr::inserted_window_dims>(),
                         c.range_of<attr::input_batching_dims>(),
                         c.range_of<attr::scatter_dims_to_operand_dims>(),
                         c.range_of<attr::scatter_indices_batching_dims>(),
                         "inserted_window_dims",
                         "input_batching_dims",
                         "scatter_dims_to_operand_dims",
                         "scatter_indices_batching_dims"};
  const IntList window = c.Get<attr::update_window_dims>();
  const SourceRange at = c.range_of<attr::update_window_dims>();
  if (update.rank() != indices.batch_rank() + static_cast<int64_t>(window.size())) {
    c.OperandError(update_operand, kGatherScatterRule,
                   "the updates have {} batch and {} window dimensions, but they are {}",
                   indices.batch_rank(), window.size(), Text(update));
    return false;
  }
  bool ok =
      RequireAscendingDimensions(c, at, kGatherScatterRule, "update_window_dims", window, update.rank());
  ok &= CheckIndexedDims(c, dims, indices);
  if (!ok) return false;
  const size_t named = window.size() + dims.absent.size() + dims.batching.size();
  if (static_cast<int64_t>(named) != dims.array.rank()) {
    c.NoteOperand(c.Error(at, kGatherScatterRule,
                          "update_window_dims, inserted_window_dims and input_batching_dims have {} entries "
                          "together, but the operand has rank {}",
                          named, dims.array.rank()),
                  j);
    return false;
  }
  if (j == 0) WarnAboutOverlaps(c, dims, starts, vector_dim);
  return CheckUpdateSizes(c, update_operand, dims, window, indices, starts);
}

}  // namespace

Inferred Scatter(RuleContext& c) {
  if (c.operand_count() % 2 == 0) {
    c.Error({}, kGatherScatterRule, "scatter takes k arrays, indices and k updates, but has {}",
            Counted(c.operand_count(), "operand"));
    return Failed();
  }
  const int64_t count = c.operand_count() / 2;
  const int64_t vector_dim = c.Get<attr::index_vector_dim>();
  if (!CheckIndices(c, count, vector_dim)) return Failed();
  bool ok = true;
  for (int64_t j = 0; j < count; ++j) ok &= CheckScattered(c, j, count, vector_dim);
  if (!ok) return Failed();
  if (count == 0) {
    c.Warning({}, kGatherScatterRule, "scatter has no arrays to scatter into");
    return AsDeclared();
  }
  absl::InlinedVector<Reduced, 4> arrays;
  for (int64_t j = 0; j < count; ++j)
    arrays.push_back({c.operand(j).type(), c.operand(count + 1 + j).type()});
  if (!CheckReducer(c, c.range_of<attr::to_apply>(), *c.Get<attr::to_apply>(), arrays)) return Failed();
  return count == 1 ? Like(c.operand(0)) : TupleOf(c.instruction().operands().subspan(0, count));
}

}  // namespace hlo::check
