#include "plan/rewrite/sized_arrays.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "hlo_run/builder.h"
#include "ir/combiners.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/replacement.h"
#include "plan/rewrite/neutral_element.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

Shape AtBounds(const Shape& shape) { return Shape::Array(shape.type(), shape.dims()); }

// An array of the bounds, and the sizes of its dimensions; these are null for static ones.
struct Sized {
  Op array;
  std::vector<Op> sizes;
  bool HasSizes() const {
    return std::any_of(sizes.begin(), sizes.end(), [](const Op& size) { return size.ok(); });
  }
};

bool IsSame(Op a, Op b) { return a.instruction() == b.instruction(); }

class Expander {
 public:
  Expander(const Instruction& instruction, const std::vector<SizeNumbers>& sizes, int64_t size_count)
      : instruction_(instruction), builder_(instruction.name()) {
    const int64_t count = instruction.operand_count();
    for (int64_t k = 0; k < count; ++k)
      operands_.push_back({builder_.Parameter(k, AtBounds(instruction.operand(k)->shape())), {}});
    std::vector<Op> all;
    for (int64_t k = 0; k < size_count; ++k)
      all.push_back(builder_.Parameter(count + k, Shape::Array(ElementType::kS32, {})));
    for (size_t k = 0; k < operands_.size(); ++k) {
      for (const int64_t number : sizes[k])
        operands_[k].sizes.push_back(number < 0 ? Op() : all[static_cast<size_t>(number)]);
    }
  }

  std::optional<SizedExpansion> Run() {
    const std::vector<Op> whole = StaticResults();
    if (!whole.empty()) return Build(whole, {});
    Sized result = SizedResult();
    if (!result.array.ok() || result.sizes.size() != result.array.dims().size()) return std::nullopt;
    // Elements beyond the sizes are zeros, as those of the reference.
    for (size_t d = 0; !StatesSizes(instruction_) && d < result.sizes.size(); ++d) {
      if (!result.sizes[d].ok()) continue;
      result.array =
          Masked(result.array, static_cast<int64_t>(d), result.sizes[d], build::ScalarLike(result.array, 0));
    }
    std::vector<Op> results = {result.array};
    std::vector<int64_t> dimensions;
    for (size_t d = 0; d < result.sizes.size(); ++d) {
      if (!result.sizes[d].ok()) continue;
      if (!instruction_.shape().IsDynamic(static_cast<int64_t>(d))) return std::nullopt;
      results.push_back(result.sizes[d]);
      dimensions.push_back(static_cast<int64_t>(d));
    }
    return Build(results, std::move(dimensions));
  }

 private:
  std::optional<SizedExpansion> Build(const std::vector<Op>& results, std::vector<int64_t> dimensions) {
    const Op first = builder_.SetName(results[0], instruction_.name());
    absl::StatusOr<CheckedModule> module =
        builder_.Build(results.size() == 1 ? first : builder_.Tuple(results));
    if (!module.ok()) return std::nullopt;
    return SizedExpansion{*std::move(module), std::move(dimensions)};
  }

  // Results without sizes of their own.
  std::vector<Op> StaticResults() {
    if (instruction_.opcode() == Opcode::kGetDimensionSize)
      return {SizeOf(operands_[0], instruction_.Get<attr::dimensions>()[0])};
    if (instruction_.opcode() != Opcode::kCustomCall ||
        reference::custom::FunctionOf(instruction_) != &reference::custom::PadToStatic)
      return {};
    std::vector<Op> results = {operands_[0].array};
    for (int64_t d = 0; d < operands_[0].array.rank(); ++d) results.push_back(SizeOf(operands_[0], d));
    return results;
  }

  Sized SizedResult() {
    const Opcode opcode = instruction_.opcode();
    switch (opcode) {
      case Opcode::kSetDimensionSize: {
        Sized result = operands_[0];
        result.sizes[static_cast<size_t>(instruction_.Get<attr::dimensions>()[0])] = operands_[1].array;
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
      case Opcode::kReduce:
        return Reduced();
      case Opcode::kDot:
        return Product();
      default:
        if (Info(opcode).has(kElementwise) && opcode != Opcode::kBitcastConvert && opcode != Opcode::kMap)
          return Elementwise();
        return {};
    }
  }

  Op Number(int64_t value) { return builder_.Constant(ElementType::kS32, static_cast<double>(value)); }
  Op SizeOf(const Sized& x, int64_t d) {
    const Op size = x.sizes[static_cast<size_t>(d)];
    return size.ok() ? size : Number(x.array.dims()[static_cast<size_t>(d)]);
  }
  // Returns the instruction on other arrays, with a result of the bounds.
  Op Emit(const std::vector<Op>& arrays) {
    return builder_.Emit(instruction_.opcode(), arrays,
                         {instruction_.attributes().begin(), instruction_.attributes().end()},
                         AtBounds(instruction_.shape()));
  }
  // Returns the array with a scalar in place of the elements from `size` on along dimension d.
  Op Masked(Op x, int64_t d, Op size, Op fill) {
    const Op position = builder_.Iota(Shape::Array(ElementType::kS32, x.dims()), d);
    return build::Select(build::Lt(position, size), x, build::BroadcastInDim(fill, x.dims(), {}));
  }

  Sized SlicedToSizes() {
    if (reference::custom::FunctionOf(instruction_) != &reference::custom::SliceToDynamic) return {};
    Sized result{operands_[0].array, {}};
    for (int64_t d = 0; d < instruction_.shape().rank(); ++d)
      result.sizes.push_back(instruction_.shape().IsDynamic(d) ? operands_[static_cast<size_t>(d) + 1].array
                                                               : Op());
    return result;
  }

  // Returns the size of elementwise operands along dimension d: that of operands larger than 1, since a
  // single element is repeated, or else the smallest.
  Op CommonSize(size_t d) {
    std::vector<Op> sizes;
    for (const Sized& operand : operands_) {
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
  Sized Elementwise() {
    if (operands_.size() > 2 && instruction_.opcode() != Opcode::kSelect) return {};
    Sized result;
    for (int64_t d = 0; d < instruction_.shape().rank(); ++d)
      result.sizes.push_back(CommonSize(static_cast<size_t>(d)));
    std::vector<Op> arrays;
    for (const Sized& operand : operands_) {
      Op x = operand.array;
      for (size_t d = 0; d < operand.sizes.size(); ++d) {
        if (!operand.sizes[d].ok() || IsSame(operand.sizes[d], result.sizes[d])) continue;
        if (operands_.size() != 2) return {};  // Only binary operations repeat single elements.
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

  Sized Broadcasted() {
    Sized result{Emit({operands_[0].array}),
                 std::vector<Op>(static_cast<size_t>(instruction_.shape().rank()))};
    const IntList dimensions = instruction_.Get<attr::dimensions>();
    for (size_t k = 0; k < dimensions.size(); ++k)
      result.sizes[static_cast<size_t>(dimensions[k])] = operands_[0].sizes[k];
    return result;
  }
  Sized Transposed() {
    Sized result{Emit({operands_[0].array}), {}};
    for (const int64_t d : instruction_.Get<attr::dimensions>())
      result.sizes.push_back(operands_[0].sizes[static_cast<size_t>(d)]);
    return result;
  }

  // Supports a reshape that adds or removes dimensions of size 1, and one whose first dimensions are the only
  // dynamic ones: the elements within the sizes are then the first ones.
  Sized Reshaped() {
    const Sized& x = operands_[0];
    const Shape& shape = instruction_.shape();
    Sized result{Emit({x.array}), std::vector<Op>(static_cast<size_t>(shape.rank()))};
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
    if (in.empty() || out.empty() || instruction_.Has<attr::inferred_dimension>() || is_static(in[0]) ||
        is_declared_static(out[0]) || in_size(in[0]) == 0 ||
        !std::all_of(in.begin() + 1, in.end(), is_static) ||
        !std::all_of(out.begin() + 1, out.end(), is_declared_static))
      return {};
    const Op elements = build::ConvertElementType(x.sizes[in[0]], ElementType::kS64) *
                        builder_.Constant(ElementType::kS64, static_cast<double>(out_size(out[0])));
    result.sizes[out[0]] = build::ConvertElementType(
        elements / builder_.Constant(ElementType::kS64, static_cast<double>(in_size(in[0]))),
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
  Sized Sliced() {
    const Sized& x = operands_[0];
    Sized result{Emit({x.array}), {}};
    for (size_t d = 0; d < x.sizes.size(); ++d) {
      const SliceRange range = instruction_.Get<attr::slice>()[d];
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
  Sized SlicedWhole() {
    std::vector<Op> arrays;
    for (const Sized& operand : operands_) arrays.push_back(operand.array);
    Sized result{Emit(arrays), {}};
    for (size_t d = 0; d < operands_[0].sizes.size(); ++d) {
      const int64_t bound = operands_[0].array.dims()[d];
      const bool is_whole = bound != 1 && instruction_.Get<attr::dynamic_slice_sizes>()[d] == bound;
      result.sizes.push_back(is_whole ? operands_[0].sizes[d] : Op());
    }
    return result;
  }

  // The padding value is also in place of the elements beyond the sizes.
  Sized Padded() {
    Sized result;
    Op x = operands_[0].array;
    for (size_t d = 0; d < operands_[0].sizes.size(); ++d) {
      const PaddingDim padding = instruction_.Get<attr::padding>()[d];
      const Op size = operands_[0].sizes[d];
      if (!size.ok()) {
        result.sizes.emplace_back();
        continue;
      }
      if (padding.low < 0 || padding.high < 0 || padding.interior != 0) return {};
      x = Masked(x, static_cast<int64_t>(d), size, operands_[1].array);
      result.sizes.push_back(size + Number(padding.low + padding.high));
    }
    result.array = Emit({x, operands_[1].array});
    return result;
  }

  // The reversed elements end at the bound; they are moved to the start.
  Sized Reversed() {
    const Sized& x = operands_[0];
    Sized result{Emit({x.array}), x.sizes};
    for (const int64_t d : instruction_.Get<attr::dimensions>()) {
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
  Sized Concatenated() {
    const auto along = static_cast<size_t>(instruction_.Get<attr::dimensions>()[0]);
    Sized result{{}, std::vector<Op>(static_cast<size_t>(instruction_.shape().rank()))};
    std::vector<Op> arrays;
    bool is_static = true;
    for (const Sized& operand : operands_) {
      arrays.push_back(operand.array);
      is_static &= !operand.sizes[along].ok();
      for (size_t d = 0; d < operand.sizes.size(); ++d) {
        if (d != along && operand.sizes[d].ok()) result.sizes[d] = operand.sizes[d];
      }
    }
    result.array = Emit(arrays);
    if (is_static) return result;
    Op start = Number(0);
    for (const Sized& operand : operands_) {
      std::vector<Op> starts(result.sizes.size(), Number(0));
      starts[along] = start;
      result.array = build::DynamicUpdateSlice(result.array, operand.array, starts);
      start = start + SizeOf(operand, static_cast<int64_t>(along));
    }
    result.sizes[along] = start;
    return result;
  }

  // A sum keeps the sign of an initial zero, also if it is complex.
  Op NeutralElement(Opcode opcode, double value) {
    const Op init = operands_[1].array, neutral = build::ScalarLike(init, value);
    return opcode == Opcode::kAdd ? build::Select(build::Eq(init, neutral), init, neutral) : neutral;
  }
  // Neutral elements replace the elements beyond the sizes.
  Sized Reduced() {
    if (operands_.size() != 2 || !instruction_.shape().IsArray()) return {};
    const Computation& combiner = *instruction_.Get<attr::to_apply>();
    const Instruction& root = *combiner.root();
    const ElementType type = instruction_.shape().type();
    const IntList reduced = instruction_.Get<attr::dimensions>();
    const bool is_simple =
        IsOnTwoParameters(root) && root.shape().IsArray(type) && root.operand(0)->shape().IsArray(type);
    const std::optional<double> neutral = is_simple ? NeutralOf(root.opcode(), type) : std::nullopt;
    Sized result;
    Op x = operands_[0].array;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const Op size = operands_[0].sizes[static_cast<size_t>(d)];
      if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) {
        result.sizes.push_back(size);
      } else if (size.ok()) {
        if (!neutral.has_value()) return {};
        x = Masked(x, d, size, NeutralElement(root.opcode(), *neutral));
      }
    }
    const build::Function code = Imported(builder_, combiner);
    if (code.computation == nullptr) return {};
    result.array = build::Reduce(x, operands_[1].array, code, reduced);
    return result;
  }

  // Zeros replace the contracted elements beyond the smaller size of both operands.
  Sized Product() {
    Sized result;
    Op arrays[2] = {operands_[0].array, operands_[1].array};
    const IntList contracting[2] = {instruction_.Get<attr::lhs_contracting_dims>(),
                                    instruction_.Get<attr::rhs_contracting_dims>()};
    const IntList batch[2] = {instruction_.Get<attr::lhs_batch_dims>(),
                              instruction_.Get<attr::rhs_batch_dims>()};
    for (size_t k = 0; k < contracting[0].size(); ++k) {
      const Op size = SmallerSize(contracting[0][k], contracting[1][k]);
      if (!size.ok()) continue;
      for (const int side : {0, 1})
        arrays[side] = Masked(arrays[side], contracting[side][k], size, build::ScalarLike(arrays[side], 0));
    }
    for (size_t k = 0; k < batch[0].size(); ++k)
      result.sizes.push_back(SmallerSize(batch[0][k], batch[1][k]));
    for (const int side : {0, 1}) {
      for (int64_t d = 0; d < arrays[side].rank(); ++d) {
        if (!Contains(contracting[side], d) && !Contains(batch[side], d))
          result.sizes.push_back(operands_[static_cast<size_t>(side)].sizes[static_cast<size_t>(d)]);
      }
    }
    result.array = Emit({arrays[0], arrays[1]});
    return result;
  }
  Op SmallerSize(int64_t left, int64_t right) {
    const Op a = operands_[0].sizes[static_cast<size_t>(left)],
             b = operands_[1].sizes[static_cast<size_t>(right)];
    if (!a.ok() || !b.ok()) return a.ok() ? a : b;
    return IsSame(a, b) ? a : build::Min(a, b);
  }

  const Instruction& instruction_;
  build::Builder builder_;
  std::vector<Sized> operands_;
};

}  // namespace

bool StatesSizes(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSetDimensionSize ||
         (instruction.opcode() == Opcode::kCustomCall &&
          reference::custom::FunctionOf(instruction) == &reference::custom::SliceToDynamic);
}

std::optional<SizedExpansion> ExpandAtBounds(const Instruction& instruction,
                                             const std::vector<SizeNumbers>& sizes, int64_t size_count) {
  for (size_t k = 0; k < sizes.size(); ++k) {
    const Shape& shape = instruction.operand(static_cast<int64_t>(k))->shape();
    for (size_t d = 0; d < sizes[k].size(); ++d) {
      if (sizes[k][d] >= 0 && !shape.IsDynamic(static_cast<int64_t>(d))) return std::nullopt;
    }
  }
  return Expander(instruction, sizes, size_count).Run();
}

std::optional<CheckedModule> WithSizes(const Shape& bounds, const std::vector<int64_t>& dimensions) {
  build::Builder builder("sizes");
  Op x = builder.Parameter(0, AtBounds(bounds));
  for (size_t k = 0; k < dimensions.size(); ++k) {
    const Op size = builder.Parameter(static_cast<int64_t>(k) + 1, Shape::Array(ElementType::kS32, {}));
    x = build::SetDimensionSize(x, size, dimensions[k]);
  }
  absl::StatusOr<CheckedModule> module = builder.Build(x);
  return module.ok() ? std::optional(*std::move(module)) : std::nullopt;
}

}  // namespace hlo::plan
