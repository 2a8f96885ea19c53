// Builds broadcasts, reshapes and other data movement, run-time sizes, gather and scatter.

#include <limits>
#include <numeric>

#include "base/arena.h"
#include "build/emit.h"

namespace hlo::build {
namespace {

std::vector<int64_t> Iota(int64_t begin, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

bool RankFits(Place place, const Op& at, std::string_view what, int64_t rank) {
  if (rank <= Shape::kMaxRank) return true;
  Refuse(at, place, "{} to {} dimensions, which are more than {}", what, rank, Shape::kMaxRank);
  return false;
}

// Reports negative sizes.
bool SizesFit(Place place, const Op& at, std::string_view what, Dims sizes) {
  for (int64_t size : sizes) {
    if (size >= 0) continue;
    Refuse(at, place, "{} to sizes {{{}}}: {} is negative", what, fmt::join(sizes, ","), size);
    return false;
  }
  return RankFits(place, at, what, static_cast<int64_t>(sizes.size()));
}

bool DimensionFits(Place place, const Op& at, std::string_view what, int64_t dimension) {
  if (dimension >= 0 && dimension < at.rank()) return true;
  Refuse(at, place, "{}: {} has no dimension {}", what, ToString(at.shape()), dimension);
  return false;
}

// Splits both lists into the smallest consecutive groups of equal products; none if a product overflows.
struct DimGroup {
  int64_t from_begin, from_end, to_begin, to_end;
};
std::vector<DimGroup> CommonFactors(Dims from, Dims to) {
  std::vector<DimGroup> groups;
  size_t i = 0, j = 0;
  int64_t from_product = 1, to_product = 1;
  DimGroup last = {0, 0, 0, 0};
  while (i < from.size() || j < to.size()) {
    int64_t from_next = 0, to_next = 0;
    const bool has_from = i < from.size(), has_to = j < to.size();
    if (has_from && __builtin_mul_overflow(from_product, from[i], &from_next)) return {};
    if (has_to && __builtin_mul_overflow(to_product, to[j], &to_next)) return {};
    const bool take_from = has_from && (!has_to || from_next <= to_next);
    const bool take_to = has_to && (!has_from || to_next <= from_next);
    if (take_from) from_product = from_next, ++i;
    if (take_to) to_product = to_next, ++j;
    if (from_product != to_product) continue;
    last = {last.from_end, static_cast<int64_t>(i), last.to_end, static_cast<int64_t>(j)};
    groups.push_back(last);
  }
  return groups;
}

// Returns the result dimension to which dimension i with its dynamic size is mapped; -1 if unknown.
int64_t DynamicTarget(const Shape& from, Dims to, int64_t i, int64_t inferred_dimension) {
  for (const DimGroup& group : CommonFactors(from.dims(), to)) {
    if (i < group.from_begin || i >= group.from_end) continue;
    int64_t begin = group.to_begin, end = group.to_end;
    if (group.from_end - group.from_begin > 1 && end - begin > 1) return -1;
    while (begin > 0 && to[begin - 1] == 1) --begin;
    while (end < static_cast<int64_t>(to.size()) && to[end] == 1) ++end;
    if (from.dim(i) == 1 && !to.empty()) {
      if (i == from.rank() - 1) return static_cast<int64_t>(to.size()) - 1;
      return i == 0 ? 0 : -1;
    }
    if (end - begin == 1) return begin;
    if (inferred_dimension >= begin && inferred_dimension < end) return inferred_dimension;
    for (int64_t k = begin; k < end; ++k) {
      if (to[k] != 1) return k;
    }
  }
  return -1;
}

Op ReshapeTo(const Operand& operand, Dims dims, int64_t inferred_dimension) {
  if (!ReadyArrays(operand.place, "reshape", {operand}) || !SizesFit(operand.place, operand, "reshape", dims))
    return Op(operand.builder(), nullptr);
  Shape shape = Shape::Array(operand.type(), dims);
  const Shape& from = operand.shape();
  const bool same_count = from.ElementCount() == shape.ElementCount();
  for (int64_t i = 0; i < from.rank() && same_count; ++i) {
    if (!from.IsDynamic(i) || from.IsUnbounded(i)) continue;
    const int64_t target = DynamicTarget(from, dims, i, inferred_dimension);
    if (target < 0)
      return Refuse(operand, operand.place,
                    "reshape of {} to {{{}}}: it is not clear where dynamic dimension {} goes",
                    ToString(from), fmt::join(dims, ","), i);
    shape.set_dim(target, shape.dim(target), true);
  }
  std::vector<AttrEntry> attributes;
  if (inferred_dimension >= 0) attributes.push_back(Attr<attr::inferred_dimension>(inferred_dimension));
  return Emit(operand.place, Opcode::kReshape, {operand}, attributes, shape);
}

}  // namespace

Op Broadcast(Operand operand, Dims sizes) {
  const auto rank = static_cast<int64_t>(sizes.size()) + operand.rank();
  if (!ReadyArrays(operand.place, "broadcast", {operand}) ||
      !SizesFit(operand.place, operand, "broadcast", sizes) ||
      !RankFits(operand.place, operand, "broadcast", rank))
    return Op(operand.builder(), nullptr);
  Shape shape = Shape::Array(operand.type(), sizes);
  for (int64_t i = 0; i < operand.rank(); ++i)
    shape.AppendDim(operand.shape().dim(i), operand.shape().IsDynamic(i));
  const std::vector<int64_t> minor = Iota(static_cast<int64_t>(sizes.size()), operand.rank());
  return Emit(operand.place, Opcode::kBroadcast, {operand},
              {Attr<attr::dimensions>(KeepDims(operand, minor))}, shape);
}

// Moves dimensions of size 1 to their place first, then removes and repeats them.
Op BroadcastInDim(Operand operand, Dims out_dims, Dims broadcast_dimensions) {
  const Place place = operand.place;
  if (!ReadyArrays(place, "BroadcastInDim", {operand}) ||
      !SizesFit(place, operand, "BroadcastInDim", out_dims))
    return Op(operand.builder(), nullptr);
  const auto refuse = [&](std::string_view why) {
    return Refuse(operand, place, "BroadcastInDim of {} to sizes {{{}}} along {{{}}}: {}",
                  ToString(operand.shape()), fmt::join(out_dims, ","), fmt::join(broadcast_dimensions, ","),
                  why);
  };
  if (static_cast<int64_t>(broadcast_dimensions.size()) != operand.rank())
    return refuse("broadcast_dimensions must have an entry for each dimension of the operand");
  std::vector<int64_t> middle(out_dims.begin(), out_dims.end());
  std::vector<int64_t> kept_sizes, kept_dimensions;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t to = broadcast_dimensions[i], size = operand.shape().dim(i);
    if (to < 0 || to >= static_cast<int64_t>(out_dims.size()))
      return refuse(fmt::format("there is no dimension {}", to));
    if (i > 0 && to <= broadcast_dimensions[i - 1]) return refuse("broadcast_dimensions must ascend");
    if (size != 1 && size != out_dims[to])
      return refuse(
          fmt::format("dimension {} has size {}, dimension {} has size {}", i, size, to, out_dims[to]));
    middle[to] = size;
  }
  const auto emit = [&](const Op& x, const std::vector<int64_t>& sizes, Dims dims) {
    return Emit(place, Opcode::kBroadcast, {x}, {Attr<attr::dimensions>(KeepDims(operand, dims))},
                Shape::Array(operand.type(), sizes));
  };
  const Op aligned = emit(operand, middle, broadcast_dimensions);
  if (Dims(middle) == out_dims) return aligned;
  for (int64_t i = 0; i < static_cast<int64_t>(middle.size()); ++i) {
    if (middle[i] != out_dims[i]) continue;
    kept_sizes.push_back(middle[i]);
    kept_dimensions.push_back(i);
  }
  return emit(Reshape({aligned, place}, kept_sizes), {out_dims.begin(), out_dims.end()}, kept_dimensions);
}

Op Reshape(Operand operand, Dims dims) { return ReshapeTo(operand, dims, -1); }
Op Reshape(const Shape& shape, Operand operand) {
  if (shape.IsArray() && shape.HasUnboundedDim())
    return Refuse(operand, operand.place, "reshape to {}, which has a dimension of unbounded size",
                  ToString(shape));
  return Emit(operand.place, Opcode::kReshape, {operand}, {}, shape);
}
Op ReshapeWithInferredDimension(Operand operand, Dims dims, int64_t inferred_dimension) {
  if (inferred_dimension < 0 || inferred_dimension >= static_cast<int64_t>(dims.size()))
    return Refuse(operand, operand.place, "there is no dimension {} to infer", inferred_dimension);
  return ReshapeTo(operand, dims, inferred_dimension);
}

Op Collapse(Operand operand, Dims dimensions) {
  if (!ReadyArrays(operand.place, "Collapse", {operand})) return Op(operand.builder(), nullptr);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (!DimensionFits(operand.place, operand, "Collapse", dimensions[i]))
      return Op(operand.builder(), nullptr);
    if (i > 0 && dimensions[i] != dimensions[i - 1] + 1)
      return Refuse(operand, operand.place, "Collapse takes consecutive dimensions, not {{{}}}",
                    fmt::join(dimensions, ","));
  }
  if (dimensions.size() <= 1) return operand;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const bool joins = i > dimensions.front() && i <= dimensions.back();
    if (!joins)
      sizes.push_back(operand.shape().dim(i));
    else if (__builtin_mul_overflow(sizes.back(), operand.shape().dim(i), &sizes.back()))
      return Refuse(operand, operand.place, "Collapse of {}: the sizes overflow", ToString(operand.shape()));
  }
  return Reshape(operand, sizes);
}

Op DynamicReshape(Operand operand, const std::vector<Op>& dim_sizes, Dims new_size_bounds,
                  const std::vector<bool>& dims_are_dynamic) {
  if (!ReadyArrays(operand.place, "dynamic-reshape", Joined({operand}, dim_sizes)) ||
      !SizesFit(operand.place, operand, "dynamic-reshape", new_size_bounds))
    return Op(operand.builder(), nullptr);
  if (new_size_bounds.size() != dims_are_dynamic.size() || new_size_bounds.size() != dim_sizes.size())
    return Refuse(operand, operand.place,
                  "DynamicReshape takes as many sizes as bounds and flags, not {}, {} and {}",
                  dim_sizes.size(), new_size_bounds.size(), dims_are_dynamic.size());
  Shape shape = Shape::Array(operand.type(), {});
  for (size_t i = 0; i < new_size_bounds.size(); ++i)
    shape.AppendDim(new_size_bounds[i], dims_are_dynamic[i]);
  return Emit(operand.place, Opcode::kDynamicReshape, Joined({operand}, dim_sizes), {}, shape);
}

Op Transpose(Operand operand, Dims permutation) {
  return Emit(operand.place, Opcode::kTranspose, {operand},
              {Attr<attr::dimensions>(KeepDims(operand, permutation))});
}
Op Rev(Operand operand, Dims dimensions) {
  return Emit(operand.place, Opcode::kReverse, {operand},
              {Attr<attr::dimensions>(KeepDims(operand, dimensions))});
}

Op Slice(Operand operand, Dims start_indices, Dims limit_indices, Dims strides) {
  if (start_indices.size() != limit_indices.size() ||
      (!strides.empty() && strides.size() != start_indices.size()))
    return Refuse(operand, operand.place,
                  "slice takes as many starts as limits and strides, not {}, {} and {}", start_indices.size(),
                  limit_indices.size(), strides.size());
  if (!Ready(operand.place, {operand})) return operand;
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < start_indices.size(); ++i) {
    ranges.push_back({start_indices[i], limit_indices[i], strides.empty() ? 1 : strides[i]});
  }
  const auto kept = operand.builder()->module().arena().Copy(absl::Span<const SliceRange>(ranges));
  return Emit(operand.place, Opcode::kSlice, {operand}, {Attr<attr::slice>(kept)});
}

Op SliceInDim(Operand operand, int64_t start, int64_t limit, int64_t stride, int64_t dimension) {
  if (!ReadyArrays(operand.place, "SliceInDim", {operand}) ||
      !DimensionFits(operand.place, operand, "SliceInDim", dimension))
    return Op(operand.builder(), nullptr);
  std::vector<int64_t> starts(operand.rank(), 0), strides(operand.rank(), 1);
  std::vector<int64_t> limits(operand.dims().begin(), operand.dims().end());
  starts[dimension] = start;
  limits[dimension] = limit;
  strides[dimension] = stride;
  return Slice(operand, starts, limits, strides);
}

Op DynamicSlice(Operand operand, const std::vector<Op>& start_indices, Dims slice_sizes) {
  return Emit(operand.place, Opcode::kDynamicSlice, Joined({operand}, start_indices),
              {Attr<attr::dynamic_slice_sizes>(KeepDims(operand, slice_sizes))});
}
Op DynamicUpdateSlice(Operand operand, Op update, const std::vector<Op>& start_indices) {
  return Emit(operand.place, Opcode::kDynamicUpdateSlice, Joined({operand, update}, start_indices));
}

Op Pad(Operand operand, Op padding_value, const std::vector<PaddingDim>& padding) {
  if (!Ready(operand.place, {operand, padding_value})) return Op(operand.builder(), nullptr);
  const auto kept = operand.builder()->module().arena().Copy(absl::Span<const PaddingDim>(padding));
  return Emit(operand.place, Opcode::kPad, {operand, padding_value}, {Attr<attr::padding>(kept)});
}
Op PadInDim(Operand operand, Op padding_value, int64_t dimension, int64_t low, int64_t high) {
  if (!ReadyArrays(operand.place, "PadInDim", {operand}) ||
      !DimensionFits(operand.place, operand, "PadInDim", dimension))
    return Op(operand.builder(), nullptr);
  std::vector<PaddingDim> padding(operand.rank());
  padding[dimension] = {.low = low, .high = high};
  return Pad(operand, padding_value, padding);
}

Op ConcatInDim(Operands operands, int64_t dimension) {
  if (operands.ops.empty()) return Op();
  return Emit(operands.place, Opcode::kConcatenate, operands.ops,
              {Attr<attr::dimensions>(KeepDims(operands.ops[0], {dimension}))});
}

Op GetDimensionSize(Operand operand, int64_t dimension) {
  if (!ReadyArrays(operand.place, "get-dimension-size", {operand}) ||
      !DimensionFits(operand.place, operand, "get-dimension-size", dimension))
    return Op(operand.builder(), nullptr);
  if (!operand.shape().IsDynamic(dimension)) {
    return operand.builder()->Constant(ElementType::kS32, static_cast<double>(operand.shape().dim(dimension)),
                                       operand.place);
  }
  return Emit(operand.place, Opcode::kGetDimensionSize, {operand},
              {Attr<attr::dimensions>(KeepDims(operand, {dimension}))});
}
Op SetDimensionSize(Operand operand, Op size, int64_t dimension) {
  return Emit(operand.place, Opcode::kSetDimensionSize, {operand, size},
              {Attr<attr::dimensions>(KeepDims(operand, {dimension}))});
}
Op RemoveDynamicDimension(Operand operand, int64_t dimension) {
  if (!ReadyArrays(operand.place, "RemoveDynamicDimension", {operand}) ||
      !DimensionFits(operand.place, operand, "RemoveDynamicDimension", dimension))
    return Op(operand.builder(), nullptr);
  Shape shape = operand.shape();
  if (shape.IsUnbounded(dimension))
    return Refuse(operand, operand.place, "the bound of dimension {} of {} is unknown", dimension,
                  ToString(shape));
  const Op bound = operand.builder()->Constant(ElementType::kS32, static_cast<double>(shape.dim(dimension)),
                                               operand.place);
  shape.set_dim(dimension, shape.dim(dimension), false);
  return Emit(operand.place, Opcode::kSetDimensionSize, {operand, bound},
              {Attr<attr::dimensions>(KeepDims(operand, {dimension}))}, shape);
}

Op Gather(Operand operand, Op start_indices, const GatherDimensions& d, Dims slice_sizes,
          bool indices_are_sorted) {
  std::vector<AttrEntry> attributes = {
      Attr<attr::offset_dims>(KeepDims(operand, d.offset_dims)),
      Attr<attr::collapsed_slice_dims>(KeepDims(operand, d.collapsed_slice_dims)),
      Attr<attr::start_index_map>(KeepDims(operand, d.start_index_map)),
      Attr<attr::index_vector_dim>(d.index_vector_dim),
      Attr<attr::slice_sizes>(KeepDims(operand, slice_sizes))};
  if (!d.operand_batching_dims.empty())
    attributes.push_back(Attr<attr::operand_batching_dims>(KeepDims(operand, d.operand_batching_dims)));
  if (!d.start_indices_batching_dims.empty())
    attributes.push_back(
        Attr<attr::start_indices_batching_dims>(KeepDims(operand, d.start_indices_batching_dims)));
  if (indices_are_sorted) attributes.push_back(Attr<attr::indices_are_sorted>(true));
  return Emit(operand.place, Opcode::kGather, {operand, start_indices}, attributes);
}

Op Scatter(Operands operands, Op scatter_indices, const Operands& updates, Function update_computation,
           const ScatterDimensions& d, bool indices_are_sorted, bool unique_indices) {
  if (update_computation.computation == nullptr || operands.ops.empty())
    return Op(update_computation.builder, nullptr);
  const Op& at = operands.ops[0];
  std::vector<AttrEntry> attributes = {
      Attr<attr::update_window_dims>(KeepDims(at, d.update_window_dims)),
      Attr<attr::inserted_window_dims>(KeepDims(at, d.inserted_window_dims)),
      Attr<attr::scatter_dims_to_operand_dims>(KeepDims(at, d.scatter_dims_to_operand_dims)),
      Attr<attr::index_vector_dim>(d.index_vector_dim), Attr<attr::to_apply>(update_computation.computation)};
  if (!d.input_batching_dims.empty())
    attributes.push_back(Attr<attr::input_batching_dims>(KeepDims(at, d.input_batching_dims)));
  if (!d.scatter_indices_batching_dims.empty())
    attributes.push_back(
        Attr<attr::scatter_indices_batching_dims>(KeepDims(at, d.scatter_indices_batching_dims)));
  if (indices_are_sorted) attributes.push_back(Attr<attr::indices_are_sorted>(true));
  if (unique_indices) attributes.push_back(Attr<attr::unique_indices>(true));
  return Emit(operands.place, Opcode::kScatter, Joined(Joined(operands.ops, {scatter_indices}), updates.ops),
              attributes);
}

}  // namespace hlo::build
