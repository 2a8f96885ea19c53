// Dynamic padding of gathers, scatters, updates and sorts.

#include "plan/calls/call_builder.h"
#include "plan/rewrite/padded_op.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

bool HasSizedIndexVectors(const PaddedOp& indices, int64_t vector_dim) {
  return vector_dim < indices.array.rank() && indices.sizes[static_cast<size_t>(vector_dim)].ok();
}

// True if an input and updates of a scatter have the sizes of the first ones, and windows have sizes only
// where they are the whole dimension of the input.
bool FitsScatter(const PaddedInstruction& scatter, const PaddedOp& first, const PaddedOp& x,
                 const PaddedOp& update) {
  const IntList windows = scatter.instruction.Get<attr::update_window_dims>(),
                inserted = scatter.instruction.Get<attr::inserted_window_dims>(),
                indexed = scatter.instruction.Get<attr::scatter_dims_to_operand_dims>();
  size_t w = 0;
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    if (!IsSame(x.sizes[d], first.sizes[d])) return false;
    const auto dimension = static_cast<int64_t>(d);
    if (Contains(inserted, dimension)) continue;
    const auto window = static_cast<size_t>(windows[w++]);
    const Op size = x.sizes[d], window_size = update.sizes[window];
    if (!size.ok() && !window_size.ok()) continue;
    const bool is_whole = x.array.dims()[d] == update.array.dims()[window] && IsSame(size, window_size);
    if (!is_whole || Contains(indexed, dimension)) return false;
  }
  return true;
}

// Returns the indices of a scatter with -1 for those beyond their number and beyond the sizes of the input.
Op ValidIndices(const PaddedInstruction& scatter, const PaddedOp& x, const PaddedOp& indices) {
  const IntList indexed = scatter.instruction.Get<attr::scatter_dims_to_operand_dims>();
  const auto vector_dim = scatter.instruction.Get<attr::index_vector_dim>();
  Op valid = indices.array;
  if (valid.type() != ElementType::kS32) valid = build::ConvertElementType(valid, ElementType::kS64);
  const build::Dims dims = indices.array.dims();
  const Op outside = build::ScalarLike(valid, -1);
  for (int64_t d = 0; d < indices.array.rank(); ++d) {
    if (const Op size = indices.sizes[static_cast<size_t>(d)]; size.ok())
      valid = Masked(valid, d, size, outside);
  }
  for (size_t k = 0; k < indexed.size(); ++k) {
    const Op size = x.sizes[static_cast<size_t>(indexed[k])];
    if (!size.ok()) continue;
    Op is_beyond = build::Ge(valid, build::ConvertElementType(size, valid.type()));
    if (vector_dim < indices.array.rank()) {
      const Op component = valid.builder()->Iota(Shape::Array(ElementType::kS32, dims), vector_dim);
      is_beyond = is_beyond & build::Eq(component, build::ScalarLike(component, static_cast<double>(k)));
    }
    valid = build::Select(is_beyond, build::BroadcastInDim(outside, dims, {}), valid);
  }
  return valid;
}

}  // namespace

// Only dimensions that are sliced whole keep their sizes.
PaddedOps PaddedGather(PaddedInstruction& gather) {
  const Instruction& instruction = gather.instruction;
  const PaddedOp &x = gather.operands[0], &indices = gather.operands[1];
  const IntList offsets = instruction.Get<attr::offset_dims>(),
                collapsed = instruction.Get<attr::collapsed_slice_dims>(),
                slice = instruction.Get<attr::slice_sizes>();
  const auto vector_dim = instruction.Get<attr::index_vector_dim>();
  if (!instruction.Get<attr::operand_batching_dims>().empty() || HasSizedIndexVectors(indices, vector_dim))
    return {};
  const auto rank = static_cast<size_t>(instruction.shape().rank());
  PaddedOp result{gather.Emit(gather.Arrays()), std::vector<Op>(rank)};
  std::vector<Op> sliced;
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    const Op size = slice[d] == x.array.dims()[d] ? x.sizes[d] : Op();
    if (!Contains(collapsed, static_cast<int64_t>(d)))
      sliced.push_back(size);
    else if (size.ok())
      return {};
  }
  size_t offset = 0, position = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (Contains(offsets, static_cast<int64_t>(d))) {
      result.sizes[d] = sliced[offset++];
      continue;
    }
    if (static_cast<int64_t>(position) == vector_dim) ++position;
    result.sizes[d] = indices.sizes[position++];
  }
  return {result};
}

// Updates beyond the number of the indices, and those beyond the sizes of the input, get indices out of
// bounds.
PaddedOps PaddedScatter(PaddedInstruction& scatter) {
  const Instruction& instruction = scatter.instruction;
  const size_t count = scatter.operands.size() / 2;
  const PaddedOp &x = scatter.operands[0], &indices = scatter.operands[count];
  if (!instruction.Get<attr::input_batching_dims>().empty() ||
      instruction.Get<attr::scatter_dims_to_operand_dims>().empty() ||
      HasSizedIndexVectors(indices, instruction.Get<attr::index_vector_dim>()))
    return {};
  for (size_t k = 0; k < count; ++k) {
    if (!FitsScatter(scatter, x, scatter.operands[k], scatter.operands[count + 1 + k])) return {};
  }
  const build::Function code = scatter.ToApply();
  if (code.computation == nullptr) return {};
  std::vector<Op> arrays = scatter.Arrays();
  arrays[count] = ValidIndices(scatter, x, indices);
  const Op scattered = scatter.Emit(
      arrays, {build::Attr<attr::to_apply>(code.computation), build::Attr<attr::indices_are_sorted>(false),
               build::Attr<attr::unique_indices>(false)});
  return PaddedInstruction::Results(scattered, std::vector<std::vector<Op>>(count, x.sizes));
}

// Elements of the operand replace those of the update beyond its sizes. An update of a whole dimension gives
// its size.
PaddedOps PaddedUpdate(PaddedInstruction& update) {
  const PaddedOp &x = update.operands[0], &part = update.operands[1];
  PaddedOp result{{}, x.sizes};
  std::vector<Op> arrays = update.Arrays();
  if (part.HasSizes()) {
    const std::vector<Op> starts(arrays.begin() + 2, arrays.end());
    if (starts[0].rank() != 0) return {};
    const build::Dims dims = part.array.dims();
    Op is_within;
    for (size_t d = 0; d < part.sizes.size(); ++d) {
      if (!part.sizes[d].ok()) continue;
      const Op within = IsWithin(update.builder, dims, static_cast<int64_t>(d), part.sizes[d]);
      is_within = is_within.ok() ? is_within & within : within;
      if (dims[d] == x.array.dims()[d]) result.sizes[d] = part.sizes[d];
    }
    arrays[1] = build::Select(is_within, part.array, build::DynamicSlice(x.array, starts, dims));
  }
  result.array = update.Emit(arrays);
  return {result};
}

// Elements from the first size on stay at their positions: these are the first keys of the sort, and 0 for
// the others.
PaddedOps PaddedSort(PaddedInstruction& sort) {
  const Computation& before = *sort.instruction.Get<attr::to_apply>();
  const int64_t dimension = sort.instruction.Get<attr::dimensions>()[0];
  if (CallsComputations(before)) return {};
  Op size;
  std::vector<std::vector<Op>> sizes;
  for (const PaddedOp& operand : sort.operands) {
    if (!size.ok()) size = operand.sizes[static_cast<size_t>(dimension)];
    sizes.push_back(operand.sizes);
  }
  std::vector<Op> arrays = sort.Arrays();
  if (!size.ok()) {
    const build::Function code = sort.ToApply();
    return PaddedInstruction::Results(sort.Emit(arrays, {build::Attr<attr::to_apply>(code.computation)}),
                                      sizes);
  }
  const Shape positions = Shape::Array(ElementType::kS32, arrays[0].dims());
  const Op position = sort.builder.Iota(positions, dimension);
  arrays.push_back(build::Select(build::Lt(position, size), build::FullLike(position, 0), position));
  std::vector<Shape> parameters;
  for (const Instruction* parameter : before.parameters()) parameters.push_back(parameter->shape());
  parameters.insert(parameters.end(), 2, Shape::Array(ElementType::kS32, {}));
  const build::Function comparator =
      sort.builder.Define(before.name(), parameters, [&](const std::vector<Op>& arguments) {
        const Op left = arguments[arguments.size() - 2], right = arguments.back();
        return build::Lt(left, right) | (build::Eq(left, right) & Inlined(sort.builder, before, arguments));
      });
  return PaddedInstruction::Results(
      build::Sort(arrays, comparator, dimension, sort.instruction.Get<attr::is_stable>()), sizes);
}

}  // namespace hlo::plan
