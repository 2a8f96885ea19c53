// Implicit broadcasting of operands of different shapes (shape-rules 2.1, 2.2).

#include "build/emit.h"

namespace hlo::build {
namespace {

// Repeats the dimensions of size 1 of `x`, which has the rank of `shape`, to the sizes of `shape`: a reshape
// removes them and a broadcast adds them.
Op Stretch(Place place, const Op& x, const Shape& shape) {
  if (SameDimensions(x.shape(), shape)) return x;
  Shape narrow = Shape::Array(x.type(), {}), wide = Shape::Array(x.type(), {});
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const bool keep = x.shape().dim(i) == shape.dim(i);
    wide.AppendDim(shape.dim(i), keep && x.shape().IsDynamic(i));
    if (!keep) continue;
    kept.push_back(i);
    narrow.AppendDim(x.shape().dim(i), x.shape().IsDynamic(i));
  }
  const Op dense = Emit(place, Opcode::kReshape, {x}, {}, narrow);
  return Emit(place, Opcode::kBroadcast, {dense}, {Attr<attr::dimensions>(KeepDims(x, kept))}, wide);
}

// Broadcasts `x` so that its dimension i becomes dimension broadcast_dimensions[i] of the result; the other
// dimensions have the sizes of `shape`.
Op Align(Place place, const Op& x, const Shape& shape, Dims broadcast_dimensions) {
  Shape aligned = Shape::Array(x.type(), shape.dims());
  for (int64_t i = 0; i < x.rank(); ++i) {
    aligned.set_dim(broadcast_dimensions[i], x.shape().dim(i), x.shape().IsDynamic(i));
  }
  return Emit(place, Opcode::kBroadcast, {x}, {Attr<attr::dimensions>(KeepDims(x, broadcast_dimensions))},
              aligned);
}

Op Spread(Place place, const Op& x, const Shape& shape, Dims broadcast_dimensions) {
  if (SameDimensions(x.shape(), shape)) return x;
  if (x.rank() == 0) {
    return Emit(place, Opcode::kBroadcast, {x}, {Attr<attr::dimensions>({})},
                Shape::Array(x.type(), shape.dims()));
  }
  const Op aligned = x.rank() < shape.rank() ? Align(place, x, shape, broadcast_dimensions) : x;
  return aligned.ok() ? Stretch(place, aligned, shape) : aligned;
}

// Returns the shape of `lower` after broadcasting to the rank of `higher` by `broadcast_dimensions`; invalid
// after an error.
Shape InDim(Place place, std::string_view what, const Op& lower, const Op& higher, Dims dims) {
  const auto refuse = [&](std::string_view why) {
    Refuse(lower, place, "{} cannot broadcast {} to {} along {{{}}}: {}", what, ToString(lower.shape()),
           ToString(higher.shape()), fmt::join(dims, ","), why);
    return Shape();
  };
  if (dims.empty() && lower.rank() > 0) return refuse("the ranks differ, and broadcast_dimensions is empty");
  if (static_cast<int64_t>(dims.size()) != lower.rank())
    return refuse("broadcast_dimensions must have an entry for each dimension of the operand of lower rank");
  Shape result = higher.shape();
  for (int64_t i = 0; i < lower.rank(); ++i) {
    const int64_t to = dims[i];
    if (to < 0 || to >= higher.rank()) return refuse(fmt::format("there is no dimension {}", to));
    if (i > 0 && to <= dims[i - 1]) return refuse("broadcast_dimensions must ascend");
    const int64_t from_size = lower.shape().dim(i), to_size = higher.shape().dim(to);
    if (from_size != to_size && from_size != 1 && to_size != 1)
      return refuse(
          fmt::format("dimension {} has size {}, dimension {} has size {}", i, from_size, to, to_size));
    const bool one_is_dynamic = from_size == 1 ? lower.shape().IsDynamic(i) : higher.shape().IsDynamic(to);
    if (lower.shape().IsDynamic(i) != higher.shape().IsDynamic(to) && from_size != to_size && one_is_dynamic)
      return refuse(fmt::format("dimension {} is dynamic on one side only", i));
    result.set_dim(to, from_size, lower.shape().IsDynamic(i));
  }
  return result;
}

// Degenerate dimensions, of size 1, take the size of the other operand.
Shape Degenerate(Place place, std::string_view what, const Op& at, const Shape& x, const Shape& y) {
  Shape result = x;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (x.dim(i) == 1) {
      result.set_dim(i, y.dim(i), y.IsDynamic(i));
    } else if (y.dim(i) != 1 && x.dim(i) != y.dim(i)) {
      Refuse(at, place, "{} cannot broadcast {} and {} together: dimension {} has sizes {} and {}", what,
             ToString(x), ToString(y), i, x.dim(i), y.dim(i));
      return Shape();
    } else if (x.dim(i) == y.dim(i)) {
      result.set_dim(i, x.dim(i), x.IsDynamic(i) || y.IsDynamic(i));
    }
  }
  return result;
}

bool IsIdentity(Dims dims, int64_t rank) {
  if (static_cast<int64_t>(dims.size()) != rank) return false;
  for (int64_t i = 0; i < rank; ++i) {
    if (dims[i] != i) return false;
  }
  return true;
}

}  // namespace

bool BroadcastTogether(Place place, std::string_view what, Op* lhs, Op* rhs, Dims dims) {
  if (!ReadyArrays(place, what, {*lhs, *rhs})) return false;
  if (lhs->type() != rhs->type() && !(IsFloat(lhs->type()) && IsFloat(rhs->type()))) {
    Refuse(*lhs, place, "{} takes arrays of one element type, but they are {} and {}", what,
           ToString(lhs->shape()), ToString(rhs->shape()));
    return false;
  }
  const bool equal_ranks = lhs->rank() == rhs->rank();
  if (equal_ranks && !dims.empty() && !IsIdentity(dims, lhs->rank())) {
    Refuse(*lhs, place, "{} of arrays of rank {} takes no broadcast_dimensions but all in order, not {{{}}}",
           what, lhs->rank(), fmt::join(dims, ","));
    return false;
  }
  if (equal_ranks && SameDimensions(lhs->shape(), rhs->shape())) return true;
  if (lhs->shape().HasUnboundedDim() || rhs->shape().HasUnboundedDim()) {
    Refuse(*lhs, place, "{} does not broadcast {} and {}: a size is unbounded", what, ToString(lhs->shape()),
           ToString(rhs->shape()));
    return false;
  }
  Shape x = lhs->shape(), y = rhs->shape();
  if (lhs->rank() < rhs->rank()) x = InDim(place, what, *lhs, *rhs, dims);
  if (rhs->rank() < lhs->rank()) y = InDim(place, what, *rhs, *lhs, dims);
  if (!x.IsValid() || !y.IsValid()) return false;
  const Shape shape = Degenerate(place, what, *lhs, x, y);
  if (!shape.IsValid()) return false;
  *lhs = Spread(place, *lhs, shape, dims);
  *rhs = Spread(place, *rhs, shape, dims);
  return lhs->ok() && rhs->ok();
}

void BroadcastScalars(Place place, const std::vector<Op*>& operands) {
  const Op* like = nullptr;
  for (const Op* op : operands) {
    if (!op->shape().IsArray()) return;
    if (like == nullptr && op->rank() > 0) like = op;
  }
  if (like == nullptr) return;
  const Shape shape = like->shape();
  for (Op* op : operands) {
    if (op->rank() == 0) *op = Spread(place, *op, shape, {});
  }
}

}  // namespace hlo::build
