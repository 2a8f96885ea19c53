// Shape rules of concatenate, slices and pad (shape-rules 3.9, 3.10).

#include "base/counted.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kConcatenate = "3.9";
constexpr std::string_view kSliceRule = "3.10";

// The known size and bound of a dimension that is not concatenated.
struct Extent {
  int64_t size = Shape::kUnbounded;
  int64_t bound = Shape::kUnbounded;

  static Extent Of(const Shape& shape, int64_t d) {
    if (shape.IsUnbounded(d)) return {};
    if (shape.IsDynamic(d)) return {.size = shape.dim(d), .bound = shape.dim(d)};
    return {.size = shape.dim(d)};
  }
};

// Returns false if known values differ.
bool Merge(Extent* into, const Extent& other) {
  if (!SizesMatch(into->size, other.size) || !SizesMatch(into->bound, other.bound)) return false;
  if (into->size == Shape::kUnbounded) into->size = other.size;
  if (into->bound == Shape::kUnbounded) into->bound = other.bound;
  return SizesMatch(into->size, into->bound);
}

bool ConcatenateOperandFits(RuleContext& c, int64_t i, int64_t d, Shape* result) {
  const Shape& first = c.operand(0);
  const Shape& x = c.operand(i);
  if (x.rank() != first.rank() || !SameFp(x.type(), first.type())) {
    c.NoteOperand(
        c.OperandError(i, kConcatenate,
                       "concatenate takes arrays of one rank and element type, but they are {} and {}",
                       Text(first), Text(x)),
        0);
    return false;
  }
  for (int64_t k = 0; k < x.rank(); ++k) {
    if (k == d) continue;
    Extent extent = Extent::Of(*result, k);
    if (!SizesMatch(x.dim(k), first.dim(k)) || !Merge(&extent, Extent::Of(x, k))) {
      c.NoteOperand(
          c.OperandError(i, kConcatenate,
                         "concatenated arrays differ in dimension {} alone, but dimension {} is {} and {}", d,
                         k, SizeText(first.dim(k)), SizeText(x.dim(k))),
          0);
      return false;
    }
    const bool bounded = extent.bound != Shape::kUnbounded;
    result->set_dim(k, bounded ? extent.bound : extent.size, bounded || extent.size == Shape::kUnbounded);
  }
  const bool dynamic = result->IsDynamic(d) || x.IsDynamic(d);
  int64_t size = Shape::kUnbounded;
  if (!result->IsUnbounded(d) && !x.IsUnbounded(d) &&
      __builtin_add_overflow(result->dim(d), x.dim(d), &size)) {
    c.OperandError(i, kConcatenate, "the size of dimension {} does not fit 64 bits", d);
    return false;
  }
  result->set_dim(d, size, dynamic);
  return true;
}

}  // namespace

Inferred Concatenate(RuleContext& c) {
  int64_t d = 0;
  if (!RequireArrays(c, kConcatenate) || !RequireOneDimension(c, kConcatenate, &d)) return Failed();
  const Shape& first = c.operand(0);
  if (!InRange(d, first.rank())) {
    c.NoteOperand(c.Error(c.range_of<attr::dimensions>(), kConcatenate, "dimension {} does not exist in {}",
                          d, Text(first)),
                  0);
    return Failed();
  }
  Shape result = first;
  result.clear_layout();
  bool ok = true;
  for (int64_t i = 1; i < c.operand_count(); ++i) ok &= ConcatenateOperandFits(c, i, d, &result);
  if (!ok) return Failed();
  result.set_type(WiderType(c, c.operand(c.operand_count() - 1).type(), first.type(), "1.2"));
  return result;
}

Inferred Slice(RuleContext& c) {
  if (!RequireArray(c, 0, kSliceRule)) return Failed();
  const Shape& x = c.operand(0);
  const auto ranges = c.Get<attr::slice>();
  const SourceRange at = c.range_of<attr::slice>();
  if (static_cast<int64_t>(ranges.size()) != x.rank()) {
    c.NoteOperand(c.Error(at, kSliceRule, "{} for the {} of {}", Counted(ranges.size(), "slice range"),
                          Counted(x.rank(), "dimension"), Text(x)),
                  0);
    return Failed();
  }
  Shape result = Shape::Scalar(x.type());
  bool ok = true;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const SliceRange& r = ranges[d];
    if (r.start < 0 || r.limit < r.start || r.stride <= 0 || (!x.IsUnbounded(d) && r.limit > x.dim(d))) {
      c.NoteOperand(
          c.Error(at, kSliceRule,
                  "slice [{}:{}:{}] of dimension {} needs 0 <= start <= limit <= {} and a positive stride",
                  r.start, r.limit, r.stride, d, SizeText(x.dim(d))),
          0);
      ok = false;
      continue;
    }
    const int64_t size = (r.limit - r.start) / r.stride + ((r.limit - r.start) % r.stride != 0);
    result.AppendDim(size, x.IsDynamic(d) && !x.IsUnbounded(d) && size != 1);
  }
  return ok ? Inferred(std::move(result)) : Failed();
}

namespace {

// Checks the start indices from operand `first` on: one vector, or one scalar per dimension (3.10).
bool CheckStartIndices(RuleContext& c, int64_t first, int64_t rank) {
  const int64_t count = c.operand_count() - first;
  bool ok = true;
  if (count > 0) ok = RequireArray(c, first, kSliceRule) && RequireType(c, first, kIntegralSet, kSliceRule);
  if (!ok) return false;
  if (count > 0 && c.operand(first).rank() == 1) {
    if (count == 1 && SizesMatch(c.operand(first).dim(0), rank)) return true;
    c.OperandError(first, kSliceRule,
                   "the start indices are one vector of {} numbers or {} scalars, but operand {} is {}", rank,
                   rank, first, Text(c.operand(first)));
    return false;
  }
  if (count != rank) {
    c.Error({}, kSliceRule, "there are {} start indices for {}", count, Counted(rank, "dimension"));
    return false;
  }
  for (int64_t i = first; i < c.operand_count(); ++i) {
    if (c.operand(i).IsScalar(c.operand(first).type())) continue;
    c.OperandError(i, kSliceRule, "start indices are scalars of one integral type, but operand {} is {}", i,
                   Text(c.operand(i)));
    ok = false;
  }
  return ok;
}

}  // namespace

Inferred DynamicSlice(RuleContext& c) {
  if (!RequireArray(c, 0, kSliceRule)) return Failed();
  const Shape& x = c.operand(0);
  const IntList sizes = c.Get<attr::dynamic_slice_sizes>();
  const SourceRange at = c.range_of<attr::dynamic_slice_sizes>();
  bool ok = CheckStartIndices(c, 1, x.rank());
  if (static_cast<int64_t>(sizes.size()) != x.rank()) {
    c.NoteOperand(c.Error(at, kSliceRule, "dynamic_slice_sizes {} must have a size for each dimension of {}",
                          Text(sizes), Text(x)),
                  0);
    return Failed();
  }
  Shape result = Shape::Scalar(x.type());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (sizes[d] < 0 || (!x.IsUnbounded(d) && sizes[d] > x.dim(d))) {
      c.NoteOperand(c.Error(at, kSliceRule, "the slice takes {} of dimension {}, which has {}",
                            Counted(sizes[d], "element"), d, SizeText(x.dim(d))),
                    0);
      ok = false;
      continue;
    }
    result.AppendDim(sizes[d], x.IsDynamic(d) && sizes[d] == x.dim(d) && sizes[d] > 1);
  }
  return ok ? Inferred(std::move(result)) : Failed();
}

Inferred DynamicUpdateSlice(RuleContext& c) {
  const Shape& x = c.operand(0);
  const Shape& update = c.operand(1);
  if (!x.IsBuffer() && !RequireArray(c, 0, kSliceRule)) return Failed();
  if (!RequireArray(c, 1, kSliceRule)) return Failed();
  bool ok = CheckStartIndices(c, 2, x.rank());
  if (x.rank() != update.rank() || !SameFp(x.type(), update.type())) {
    c.NoteOperand(c.OperandError(1, kSliceRule, "the update has rank and element type of {}, but it is {}",
                                 Text(x), Text(update)),
                  0);
    return Failed();
  }
  bool dynamic = false;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!x.IsUnbounded(d) && update.dim(d) > x.dim(d)) {
      c.NoteOperand(
          c.OperandError(1, kSliceRule, "the update is larger than the array in dimension {}: {} in {}", d,
                         Text(update), Text(x)),
          0);
      ok = false;
    }
    dynamic |= update.IsDynamic(d) && !x.IsDynamic(d) && update.dim(d) == x.dim(d);
  }
  if (!ok) return Failed();
  if (!dynamic) [[likely]]
    return Like(x);
  Shape result = x;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (update.IsDynamic(d) && update.dim(d) == x.dim(d)) result.set_dim(d, x.dim(d), true);
  }
  return result;
}

namespace {

// Computes size + low + high + max(size - 1, 0) * interior; false if it is negative or overflows.
bool PaddedSize(int64_t size, const PaddingDim& padding, int64_t* result) {
  int64_t holes = 0;
  return !__builtin_mul_overflow(std::max<int64_t>(size - 1, 0), padding.interior, &holes) &&
         !__builtin_add_overflow(size, holes, result) &&
         !__builtin_add_overflow(*result, padding.low, result) &&
         !__builtin_add_overflow(*result, padding.high, result) && *result >= 0;
}

}  // namespace

Inferred Pad(RuleContext& c) {
  if (!RequireArrays(c, kSliceRule)) return Failed();
  const Shape& x = c.operand(0);
  const Shape& value = c.operand(1);
  const auto padding = c.Get<attr::padding>();
  const SourceRange at = c.range_of<attr::padding>();
  bool ok = true;
  if (!value.IsScalar() || !SameFp(x.type(), value.type())) {
    c.NoteOperand(c.OperandError(1, kSliceRule, "the padding value is a scalar of type {}, but it is {}",
                                 Name(x.type()), Text(value)),
                  0);
    ok = false;
  }
  if (static_cast<int64_t>(padding.size()) != x.rank()) {
    c.NoteOperand(c.Error(at, kSliceRule, "there are {} padding entries for the {} of {}", padding.size(),
                          Counted(x.rank(), "dimension"), Text(x)),
                  0);
    return Failed();
  }
  if (!ok) return Failed();
  Shape result = Shape::Scalar(WiderType(c, x.type(), value.type(), "1.2"));
  for (int64_t d = 0; d < x.rank(); ++d) {
    const PaddingDim& p = padding[d];
    int64_t size = Shape::kUnbounded;
    if (p.interior < 0) {
      c.Error(at, kSliceRule, "interior padding must not be negative, but it is {}", p.interior);
      ok = false;
    } else if (!x.IsUnbounded(d) && !PaddedSize(x.dim(d), p, &size)) {
      c.NoteOperand(c.Error(at, kSliceRule, "padding {}_{}_{} leaves no valid size for dimension {} of {}",
                            p.low, p.high, p.interior, d, Text(x)),
                    0);
      ok = false;
    }
    result.AppendDim(size, x.IsDynamic(d));
  }
  return ok ? Inferred(std::move(result)) : Failed();
}

}  // namespace hlo::check
