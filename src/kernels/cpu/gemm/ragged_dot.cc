#include "kernels/cpu/gemm/ragged_dot.h"

#include <algorithm>
#include <cstring>

#include "types/dispatch.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

// Returns a group size; values that exceed int64_t saturate.
int64_t SizeAt(ElementType type, const void* sizes, int64_t i) {
  return DispatchType(type, [&]<ElementType kType>() -> int64_t {
    using N = Native<kType>;
    if constexpr (std::is_same_v<N, uint64_t>)
      return static_cast<int64_t>(std::min<uint64_t>(static_cast<const N*>(sizes)[i], INT64_MAX));
    else if constexpr (std::is_integral_v<N>)
      return static_cast<int64_t>(static_cast<const N*>(sizes)[i]);
    else
      return 0;
  });
}

// Sets the strides of one array along `axes`, as rows or columns of an operand.
template <class Axes, class Stride>
void SetDims(const Axes& axes, Stride stride, int64_t* only, Index* sizes, Index* strides) {
  if (axes.size() == 1) {
    *only = axes[0].*stride;
    return;
  }
  for (const auto& axis : axes) {
    sizes->push_back(axis.size);
    strides->push_back(axis.*stride);
  }
}

template <class Axes>
int64_t Count(const Axes& axes) {
  int64_t count = 1;
  for (const auto& axis : axes) count *= axis.size;
  return count;
}

}  // namespace

std::optional<RaggedDot> RaggedDot::Make(const DenseArray& lhs, const DenseArray& rhs,
                                         const DenseArray& sizes, const RaggedDims& dims,
                                         const DenseArray& out) {
  if (!GemmSupports(lhs.type, rhs.type, out.type) || !IsIntegral(sizes.type) || sizes.dims.empty() ||
      dims.groups.size() > 1)
    return std::nullopt;
  RaggedDot dot;
  dot.lhs_type_ = lhs.type;
  dot.rhs_type_ = rhs.type;
  dot.out_type_ = out.type;
  dot.sizes_type_ = sizes.type;
  dot.out_count_ = Product(out.dims);
  dot.group_.size = sizes.dims.back();
  dot.AddAxes(lhs, rhs, dims, out);
  if (sizes.dims.size() > 1 && !dot.MoveAxesToPrefix()) return std::nullopt;
  return dot;
}

void RaggedDot::AddAxes(const DenseArray& lhs, const DenseArray& rhs, const RaggedDims& dims,
                        const DenseArray& out) {
  const Index ls = RowMajorStrides(lhs.dims), rs = RowMajorStrides(rhs.dims), os = RowMajorStrides(out.dims);
  const auto add = [&](Axes& axes, const Axis& axis) {
    axes.push_back(axis);
    if (axis.is_ragged) ragged_ = axis;
  };
  int64_t at = 0;  // The next dimension of the result.
  if (Contains(dims.lhs.contracting, dims.ragged)) group_.out = os[at++];
  if (!dims.groups.empty()) group_.rhs = rs[dims.groups[0]];
  for (size_t k = 0; k < dims.lhs.batch.size(); ++k) {
    const int64_t d = dims.lhs.batch[k];
    add(batch_, {lhs.dims[d], ls[d], rs[dims.rhs.batch[k]], os[at++], d == dims.ragged});
  }
  for (const int64_t d :
       OtherDims(static_cast<int64_t>(lhs.dims.size()), dims.lhs.batch, dims.lhs.contracting))
    add(rows_, {lhs.dims[d], ls[d], 0, os[at++], d == dims.ragged});
  for (size_t k = 0; k < dims.lhs.contracting.size(); ++k) {
    const int64_t d = dims.lhs.contracting[k];
    add(terms_, {lhs.dims[d], ls[d], rs[dims.rhs.contracting[k]], 0, d == dims.ragged});
  }
  Index taken(dims.rhs.batch);
  taken.insert(taken.end(), dims.rhs.contracting.begin(), dims.rhs.contracting.end());
  for (const int64_t d : OtherDims(static_cast<int64_t>(rhs.dims.size()), taken, dims.groups))
    add(columns_, {rhs.dims[d], 0, rs[d], os[at++]});
}

bool RaggedDot::MoveAxesToPrefix() {
  const auto is_ragged = [](const Axis& axis) { return axis.is_ragged; };
  const bool by_terms = std::any_of(terms_.begin(), terms_.end(), is_ragged);
  for (Axes* axes : {&batch_, by_terms ? &terms_ : &rows_}) {
    const auto end = std::find_if(axes->begin(), axes->end(), is_ragged);
    if (axes == &terms_ && end != axes->begin()) return false;
    const bool found = end != axes->end();
    prefix_.insert(prefix_.end(), axes->begin(), end);
    axes->erase(axes->begin(), end);
    if (found) return true;
  }
  return true;
}

RaggedDot::Arrays RaggedDot::Moved(const Arrays& arrays, const Axis& axis, int64_t steps) const {
  return {static_cast<const std::byte*>(arrays.lhs) + steps * axis.lhs * ByteCount(lhs_type_),
          static_cast<const std::byte*>(arrays.rhs) + steps * axis.rhs * ByteCount(rhs_type_),
          static_cast<std::byte*>(arrays.out) + steps * axis.out * ByteCount(out_type_)};
}

bool RaggedDot::Run(const void* lhs, const void* rhs, const void* sizes, void* out) const {
  const int64_t prefixes = Count(prefix_);
  for (int64_t i = 0; i < prefixes * group_.size; ++i) {
    if (SizeAt(sizes_type_, sizes, i) < 0) return false;
  }
  std::memset(out, 0, out_count_ * ByteCount(out_type_));
  if (out_count_ == 0) return true;
  for (int64_t p = 0; p < prefixes; ++p) {
    Arrays arrays{lhs, rhs, out};
    int64_t rest = p;
    for (size_t k = prefix_.size(); k-- > 0;) {
      arrays = Moved(arrays, prefix_[k], rest % prefix_[k].size);
      rest /= prefix_[k].size;
    }
    RunPrefix(arrays, static_cast<const std::byte*>(sizes) + p * group_.size * ByteCount(sizes_type_));
  }
  return true;
}

void RaggedDot::RunPrefix(const Arrays& arrays, const void* sizes) const {
  int64_t begin = 0;
  for (int64_t g = 0; g < group_.size && begin < ragged_.size; ++g) {
    const int64_t size = std::min(SizeAt(sizes_type_, sizes, g), ragged_.size - begin);
    if (size > 0) RunGroup(Moved(Moved(arrays, group_, g), ragged_, begin), size);
    begin += size;
  }
}

void RaggedDot::RunGroup(const Arrays& arrays, int64_t size) const {
  GemmProblem p;
  const auto ragged_size = [&](Axis axis) {
    if (axis.is_ragged) axis.size = size;
    return axis;
  };
  const auto add_batch = [&](const Axis& axis) {
    p.batch_dims.push_back(axis.size);
    p.a.batch_strides.push_back(axis.lhs);
    p.b.batch_strides.push_back(axis.rhs);
    p.c_batch_strides.push_back(axis.out);
  };
  Axes rows, terms;
  for (const Axis& axis : batch_) add_batch(ragged_size(axis));
  for (const Axis& axis : terms_) terms.push_back(ragged_size(axis));
  // Rows of the result have a single stride: that of the ragged dimension, or of the last one.
  const bool by_rows = std::any_of(rows_.begin(), rows_.end(), [](const Axis& a) { return a.is_ragged; });
  for (const Axis& axis : rows_) {
    if (by_rows && !axis.is_ragged)
      add_batch(axis);
    else
      rows.push_back(ragged_size(axis));
  }
  p.m = Count(rows);
  p.n = Count(columns_);
  p.k = Count(terms);
  p.a.data = arrays.lhs;
  p.a.type = lhs_type_;
  p.b.data = arrays.rhs;
  p.b.type = rhs_type_;
  p.c = arrays.out;
  p.c_type = out_type_;
  p.c_row_stride = rows.empty() ? p.n : rows.back().out;
  SetDims(rows, &Axis::lhs, &p.a.row_stride, &p.a.row_sizes, &p.a.row_strides);
  SetDims(terms, &Axis::lhs, &p.a.column_stride, &p.a.column_sizes, &p.a.column_strides);
  SetDims(terms, &Axis::rhs, &p.b.row_stride, &p.b.row_sizes, &p.b.row_strides);
  SetDims(columns_, &Axis::rhs, &p.b.column_stride, &p.b.column_sizes, &p.b.column_strides);
  Gemm(p);
}

}  // namespace hlo::cpu
