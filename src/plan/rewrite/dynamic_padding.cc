#include "plan/rewrite/dynamic_padding.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/result_shapes.h"
#include "ir/single_terms.h"
#include "plan/rewrite/padded_op.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

class Expander : PaddedInstruction {
 public:
  using PaddedInstruction::PaddedInstruction;

  std::optional<PaddedExpansion> Run() {
    const std::vector<Op> whole = StaticResults();
    if (!whole.empty()) return Build(whole, std::vector<std::vector<int64_t>>(whole.size()));
    PaddedOps results = PaddedResults();
    const absl::Span<const Shape> shapes = ResultShapes(instruction);
    if (results.empty() || results.size() != shapes.size()) return std::nullopt;
    std::vector<Op> arrays, sizes;
    std::vector<std::vector<int64_t>> dimensions(results.size());
    for (size_t k = 0; k < results.size(); ++k) {
      PaddedOp& result = results[k];
      if (!result.array.ok() || result.sizes.size() != result.array.dims().size()) return std::nullopt;
      // The builder derives the type from the operands; a module may declare another one.
      if (result.array.type() != shapes[k].type()) return std::nullopt;
      for (int64_t d = 0; d < result.array.rank(); ++d) {
        const Op size = result.sizes[static_cast<size_t>(d)];
        if (!size.ok()) continue;
        if (!shapes[k].IsDynamic(d)) return std::nullopt;
        // Elements beyond the sizes are zeros, as those of the reference.
        if (!KeepsElementsBeyondSizes())
          result.array = Masked(result.array, d, size, build::ScalarLike(result.array, 0));
        sizes.push_back(size);
        dimensions[k].push_back(d);
      }
      arrays.push_back(result.array);
    }
    arrays.insert(arrays.end(), sizes.begin(), sizes.end());
    return Build(arrays, std::move(dimensions));
  }

 private:
  std::optional<PaddedExpansion> Build(const std::vector<Op>& results,
                                       std::vector<std::vector<int64_t>> dimensions) {
    const Op first = builder.SetName(results[0], instruction.name());
    absl::StatusOr<CheckedModule> module =
        builder.Build(results.size() == 1 ? first : builder.Tuple(results));
    if (!module.ok()) return std::nullopt;
    return PaddedExpansion{*std::move(module), std::move(dimensions)};
  }

  bool KeepsElementsBeyondSizes() const {
    return StatesSizes(instruction) || instruction.opcode() == Opcode::kDynamicUpdateSlice ||
           instruction.opcode() == Opcode::kSort;
  }

  // Results without sizes of their own.
  std::vector<Op> StaticResults() {
    if (instruction.opcode() == Opcode::kGetDimensionSize)
      return {SizeOf(operands[0], instruction.Get<attr::dimensions>()[0])};
    if (instruction.opcode() != Opcode::kCustomCall ||
        reference::custom::FunctionOf(instruction) != &reference::custom::PadToStatic)
      return {};
    std::vector<Op> results = {operands[0].array};
    for (int64_t d = 0; d < operands[0].array.rank(); ++d) results.push_back(SizeOf(operands[0], d));
    return results;
  }

  PaddedOps PaddedResults() {
    switch (instruction.opcode()) {
      case Opcode::kGather:
        return PaddedGather(*this);
      case Opcode::kScatter:
        return PaddedScatter(*this);
      case Opcode::kDynamicUpdateSlice:
        return PaddedUpdate(*this);
      case Opcode::kSort:
        return PaddedSort(*this);
      case Opcode::kReduce:
        return Reduced();
      case Opcode::kReduceWindow:
        return PaddedReduceWindow(*this);
      case Opcode::kSelectAndScatter:
        return PaddedSelectAndScatter(*this);
      case Opcode::kConvolution:
        return PaddedConvolution(*this);
      case Opcode::kScan:
        return PaddedScan(*this);
      default:
        return {PaddedResult()};
    }
  }

  PaddedOp PaddedResult() {
    const Opcode opcode = instruction.opcode();
    switch (opcode) {
      case Opcode::kSetDimensionSize: {
        PaddedOp result = operands[0];
        if (result.array.type() != instruction.shape().type())
          result.array = build::ConvertElementType(result.array, instruction.shape().type());
        result.sizes[static_cast<size_t>(instruction.Get<attr::dimensions>()[0])] = operands[1].array;
        return result;
      }
      case Opcode::kCustomCall:
        return SlicedToSizes();
      case Opcode::kBroadcast:
        return Broadcasted();
      case Opcode::kTranspose:
        return Transposed();
      case Opcode::kReshape:
        return Reshaped();
      case Opcode::kSlice:
        return Sliced();
      case Opcode::kDynamicSlice:
        return SlicedWhole();
      case Opcode::kPad:
        return Padded();
      case Opcode::kReverse:
        return Reversed();
      case Opcode::kConcatenate:
        return Concatenated();
      case Opcode::kDot:
        return Product();
      case Opcode::kClamp:
        return {Emit(Arrays()), operands[1].sizes};
      case Opcode::kSelect:
        return Elementwise();
      case Opcode::kBitcastConvert:
        return BitcastConverted();
      default:
        if (Info(opcode).has(kElementwise) && opcode != Opcode::kMap) return Elementwise();
        return {};
    }
  }

  PaddedOp SlicedToSizes() {
    if (reference::custom::FunctionOf(instruction) != &reference::custom::SliceToDynamic) return {};
    PaddedOp result{operands[0].array, {}};
    for (int64_t d = 0; d < instruction.shape().rank(); ++d)
      result.sizes.push_back(instruction.shape().IsDynamic(d) ? operands[static_cast<size_t>(d) + 1].array
                                                              : Op());
    return result;
  }

  // Returns the size of elementwise operands along dimension d: that of operands larger than 1, since a
  // single element is repeated, or else the smallest.
  Op CommonSize(size_t d) {
    std::vector<Op> sizes;
    for (const PaddedOp& operand : operands) {
      if (operand.sizes.empty() || !operand.sizes[d].ok()) continue;
      const Op size = operand.sizes[d];
      if (std::none_of(sizes.begin(), sizes.end(), [&](Op other) { return IsSame(size, other); }))
        sizes.push_back(size);
    }
    if (sizes.size() <= 1) return sizes.empty() ? Op() : sizes[0];
    const Op one = Number(1), none = Number(std::numeric_limits<int32_t>::max());
    Op least = none, least_of_many = none;
    for (const Op& size : sizes) {
      least = build::Min(least, size);
      least_of_many = build::Min(least_of_many, build::Select(build::Gt(size, one), size, none));
    }
    return build::Select(build::Eq(least, one) & build::Lt(least_of_many, none), least_of_many, least);
  }
  PaddedOp Elementwise() {
    PaddedOp result;
    for (int64_t d = 0; d < instruction.shape().rank(); ++d)
      result.sizes.push_back(CommonSize(static_cast<size_t>(d)));
    std::vector<Op> arrays;
    for (const PaddedOp& operand : operands) {
      Op x = operand.array;
      for (size_t d = 0; d < operand.sizes.size(); ++d) {
        if (!operand.sizes[d].ok() || IsSame(operand.sizes[d], result.sizes[d])) continue;
        if (operands.size() != 2) continue;  // Only binary operations repeat single elements.
        const auto dimension = static_cast<int64_t>(d);
        std::vector<int64_t> kept, dims(x.dims().begin(), x.dims().end());
        for (int64_t k = 0; k < x.rank(); ++k) {
          if (k != dimension) kept.push_back(k);
        }
        Op first = build::SliceInDim(x, 0, std::min<int64_t>(1, dims[d]), 1, dimension);
        if (dims[d] == 0) return {};
        first = build::BroadcastInDim(build::Reshape(first, Pick(dims, kept)), dims, kept);
        const Op is_single = build::Eq(operand.sizes[d], Number(1));
        x = build::Select(build::BroadcastInDim(is_single, dims, {}), first, x);
      }
      arrays.push_back(x);
    }
    result.array = Emit(arrays);
    return result;
  }

  // The last dimension of the wider type's parts is static.
  PaddedOp BitcastConverted() {
    PaddedOp result{Emit(Arrays()), operands[0].sizes};
    const auto rank = static_cast<size_t>(instruction.shape().rank());
    if (rank < result.sizes.size() && result.sizes.back().ok()) return {};
    result.sizes.resize(rank);
    return result;
  }

  PaddedOp Broadcasted() {
    PaddedOp result{Emit({operands[0].array}),
                    std::vector<Op>(static_cast<size_t>(instruction.shape().rank()))};
    const IntList dimensions = instruction.Get<attr::dimensions>();
    for (size_t k = 0; k < dimensions.size(); ++k)
      result.sizes[static_cast<size_t>(dimensions[k])] = operands[0].sizes[k];
    return result;
  }
  PaddedOp Transposed() {
    PaddedOp result{Emit({operands[0].array}), {}};
    for (const int64_t d : instruction.Get<attr::dimensions>())
      result.sizes.push_back(operands[0].sizes[static_cast<size_t>(d)]);
    return result;
  }

  // Supports a reshape that adds or removes dimensions of size 1, and one whose first dimensions are the only
  // dynamic ones: the elements within the sizes are then the first ones.
  PaddedOp Reshaped() {
    const PaddedOp& x = operands[0];
    const Shape& shape = instruction.shape();
    PaddedOp result{Emit({x.array}), std::vector<Op>(static_cast<size_t>(shape.rank()))};
    std::vector<size_t> in, out;
    for (size_t d = 0; d < x.sizes.size(); ++d) {
      if (x.array.dims()[d] != 1) in.push_back(d);
      if (x.array.dims()[d] == 1 && x.sizes[d].ok()) return {};
    }
    for (size_t d = 0; d < result.sizes.size(); ++d) {
      if (shape.dims()[d] != 1) out.push_back(d);
      if (shape.dims()[d] == 1 && shape.IsDynamic(static_cast<int64_t>(d))) return {};
    }
    const auto in_size = [&](size_t d) { return x.array.dims()[d]; };
    const auto out_size = [&](size_t d) { return shape.dims()[d]; };
    if (Sizes(in, in_size) == Sizes(out, out_size)) {
      for (size_t k = 0; k < in.size(); ++k) result.sizes[out[k]] = x.sizes[in[k]];
      return result;
    }
    const auto is_static = [&](size_t d) { return !x.sizes[d].ok(); };
    const auto is_declared_static = [&](size_t d) { return !shape.IsDynamic(static_cast<int64_t>(d)); };
    if (in.empty() || out.empty() || instruction.Has<attr::inferred_dimension>() || is_static(in[0]) ||
        is_declared_static(out[0]) || in_size(in[0]) == 0 ||
        !std::all_of(in.begin() + 1, in.end(), is_static) ||
        !std::all_of(out.begin() + 1, out.end(), is_declared_static))
      return {};
    const Op elements = build::ConvertElementType(x.sizes[in[0]], ElementType::kS64) *
                        builder.Constant(ElementType::kS64, static_cast<double>(out_size(out[0])));
    result.sizes[out[0]] = build::ConvertElementType(
        elements / builder.Constant(ElementType::kS64, static_cast<double>(in_size(in[0]))),
        ElementType::kS32);
    return result;
  }
  template <class Size>
  static std::vector<int64_t> Sizes(const std::vector<size_t>& dimensions, Size&& size) {
    std::vector<int64_t> sizes;
    for (const size_t d : dimensions) sizes.push_back(size(d));
    return sizes;
  }

  // A single element is static.
  PaddedOp Sliced() {
    const PaddedOp& x = operands[0];
    PaddedOp result{Emit({x.array}), {}};
    for (size_t d = 0; d < x.sizes.size(); ++d) {
      const SliceRange range = instruction.Get<attr::slice>()[d];
      const Op size = x.sizes[d];
      const bool is_whole = range.start == 0 && range.stride == 1 && range.limit == x.array.dims()[d];
      if (!size.ok() || result.array.dims()[d] == 1) {
        result.sizes.emplace_back();
      } else if (is_whole) {
        result.sizes.push_back(size);
      } else {
        const Op limit = build::Min(size, Number(range.limit)),
                 start = build::Min(limit, Number(range.start));
        result.sizes.push_back((limit - start + Number(range.stride - 1)) / Number(range.stride));
      }
    }
    return result;
  }
  // Only dimensions that are sliced whole keep their sizes.
  PaddedOp SlicedWhole() {
    std::vector<Op> arrays;
    for (const PaddedOp& operand : operands) arrays.push_back(operand.array);
    PaddedOp result{Emit(arrays), {}};
    for (size_t d = 0; d < operands[0].sizes.size(); ++d) {
      const int64_t bound = operands[0].array.dims()[d];
      const bool is_whole = bound != 1 && instruction.Get<attr::dynamic_slice_sizes>()[d] == bound;
      result.sizes.push_back(is_whole ? operands[0].sizes[d] : Op());
    }
    return result;
  }

  // The padding value is also in place of the elements beyond the sizes.
  PaddedOp Padded() {
    PaddedOp result;
    Op x = operands[0].array;
    for (size_t d = 0; d < operands[0].sizes.size(); ++d) {
      const PaddingDim padding = instruction.Get<attr::padding>()[d];
      const Op size = operands[0].sizes[d];
      if (!size.ok()) {
        result.sizes.emplace_back();
        continue;
      }
      if (padding.low < 0 || padding.high < 0 || padding.interior != 0) return {};
      x = Masked(x, static_cast<int64_t>(d), size, operands[1].array);
      result.sizes.push_back(size + Number(padding.low + padding.high));
    }
    result.array = Emit({x, operands[1].array});
    return result;
  }

  // The reversed elements end at the bound; they are moved to the start.
  PaddedOp Reversed() {
    const PaddedOp& x = operands[0];
    PaddedOp result{Emit({x.array}), x.sizes};
    for (const int64_t d : instruction.Get<attr::dimensions>()) {
      const Op size = x.sizes[static_cast<size_t>(d)];
      if (!size.ok()) continue;
      std::vector<Op> starts(x.sizes.size(), Number(0));
      starts[static_cast<size_t>(d)] = Number(x.array.dims()[static_cast<size_t>(d)]) - size;
      result.array = build::DynamicSlice(build::ConcatInDim({result.array, build::FullLike(x.array, 0)}, d),
                                         starts, x.array.dims());
    }
    return result;
  }

  // Operands overwrite the elements beyond the sizes of those before. Other dimensions have the size of the
  // last dynamic operand.
  PaddedOp Concatenated() {
    const auto along = static_cast<size_t>(instruction.Get<attr::dimensions>()[0]);
    PaddedOp result{{}, std::vector<Op>(static_cast<size_t>(instruction.shape().rank()))};
    std::vector<Op> arrays;
    bool is_static = true;
    for (const PaddedOp& operand : operands) {
      arrays.push_back(operand.array);
      is_static &= !operand.sizes[along].ok();
      for (size_t d = 0; d < operand.sizes.size(); ++d) {
        if (d != along && operand.sizes[d].ok()) result.sizes[d] = operand.sizes[d];
      }
    }
    result.array = Emit(arrays);
    if (is_static) return result;
    Op start = Number(0);
    for (const PaddedOp& operand : operands) {
      std::vector<Op> starts(result.sizes.size(), Number(0));
      starts[along] = start;
      result.array = build::DynamicUpdateSlice(result.array, operand.array, starts);
      start = start + SizeOf(operand, static_cast<int64_t>(along));
    }
    result.sizes[along] = start;
    return result;
  }

  // Neutral elements replace the elements beyond the sizes.
  PaddedOps Reduced() {
    const IntList reduced = instruction.Get<attr::dimensions>();
    const bool combines = !ReducesSingleElements(instruction);
    const Op neutral = operands.size() == 2 && combines ? NeutralElement() : Op();
    if (!neutral.ok()) return PaddedReduce(*this);
    PaddedOp result;
    Op x = operands[0].array;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const Op size = operands[0].sizes[static_cast<size_t>(d)];
      if (!Contains(reduced, d))
        result.sizes.push_back(size);
      else if (size.ok())
        x = Masked(x, d, size, neutral);
    }
    const build::Function code = ToApply();
    if (code.computation == nullptr) return {};
    result.array = build::Reduce(x, operands[1].array, code, reduced);
    return {result};
  }

  // Zeros replace the contracted elements beyond the smaller size of both operands.
  PaddedOp Product() {
    PaddedOp result;
    Op arrays[2] = {operands[0].array, operands[1].array};
    const IntList contracting[2] = {instruction.Get<attr::lhs_contracting_dims>(),
                                    instruction.Get<attr::rhs_contracting_dims>()};
    const IntList batch[2] = {instruction.Get<attr::lhs_batch_dims>(),
                              instruction.Get<attr::rhs_batch_dims>()};
    for (size_t k = 0; k < contracting[0].size(); ++k) {
      const Op size = SmallerSize(operands[0].sizes[static_cast<size_t>(contracting[0][k])],
                                  operands[1].sizes[static_cast<size_t>(contracting[1][k])]);
      if (!size.ok()) continue;
      for (const int side : {0, 1})
        arrays[side] = Masked(arrays[side], contracting[side][k], size, build::ScalarLike(arrays[side], 0));
    }
    for (size_t k = 0; k < batch[0].size(); ++k)
      result.sizes.push_back(SmallerSize(operands[0].sizes[static_cast<size_t>(batch[0][k])],
                                         operands[1].sizes[static_cast<size_t>(batch[1][k])]));
    for (const int side : {0, 1}) {
      for (int64_t d = 0; d < arrays[side].rank(); ++d) {
        if (!Contains(contracting[side], d) && !Contains(batch[side], d))
          result.sizes.push_back(operands[static_cast<size_t>(side)].sizes[static_cast<size_t>(d)]);
      }
    }
    result.array = Emit({arrays[0], arrays[1]});
    return result;
  }
};

}  // namespace

bool StatesSizes(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSetDimensionSize ||
         (instruction.opcode() == Opcode::kCustomCall &&
          reference::custom::FunctionOf(instruction) == &reference::custom::SliceToDynamic);
}

std::optional<PaddedExpansion> ExpandPadded(const Instruction& instruction,
                                            const std::vector<SizeNumbers>& sizes, int64_t size_count) {
  for (size_t k = 0; k < sizes.size(); ++k) {
    const Shape& shape = instruction.operand(static_cast<int64_t>(k))->shape();
    for (size_t d = 0; d < sizes[k].size(); ++d) {
      if (sizes[k][d] >= 0 && !shape.IsDynamic(static_cast<int64_t>(d))) return std::nullopt;
    }
  }
  return Expander(instruction, sizes, size_count).Run();
}

namespace {

std::optional<CheckedModule> Built(build::Builder& builder, Op root) {
  absl::StatusOr<CheckedModule> module = builder.Build(root);
  return module.ok() ? std::optional(*std::move(module)) : std::nullopt;
}

}  // namespace

std::optional<CheckedModule> SliceToDynamicModule(const Shape& bounds,
                                                  const std::vector<int64_t>& dimensions) {
  build::Builder builder("sizes");
  Op x = builder.Parameter(0, PaddedShape(bounds));
  for (size_t k = 0; k < dimensions.size(); ++k) {
    const Op size = builder.Parameter(static_cast<int64_t>(k) + 1, Shape::Array(ElementType::kS32, {}));
    x = build::SetDimensionSize(x, size, dimensions[k]);
  }
  return Built(builder, x);
}

std::optional<CheckedModule> PadToStaticModule(const Shape& shape) {
  build::Builder builder("array_and_sizes");
  std::vector<Shape> parts = {PaddedShape(shape)};
  parts.resize(static_cast<size_t>(shape.rank()) + 1, Shape::Scalar(ElementType::kS32));
  return Built(builder, builder.CustomCall("PadToStatic", {builder.Parameter(0, shape)},
                                           Shape::Tuple(std::move(parts))));
}

std::optional<CheckedModule> SizeConstant(int64_t size) {
  build::Builder builder("size");
  return Built(builder, builder.Constant(ElementType::kS32, static_cast<double>(size)));
}

}  // namespace hlo::plan
