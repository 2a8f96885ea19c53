#include "reference/dynamic_sizes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/check.h"
#include "reference/arrays.h"

namespace hlo::reference {
absl::StatusOr<Literal> PaddedToBounds(const Literal& actual, const Shape& declared) {
  if (declared.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < declared.elements().size(); ++i) {
      HLO_ASSIGN_OR_RETURN(Literal element, PaddedToBounds(actual.element(i), declared.element(i)));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  for (int64_t d = 0; d < declared.rank(); ++d) {
    if (actual.dim(d) > declared.dim(d)) {
      return absl::FailedPreconditionError(
          fmt::format("dimension {} has the size {} at run time, beyond its bound {}", d, actual.dim(d),
                      declared.dim(d)));
    }
  }
  if (actual.dims() == declared.dims()) return actual.WithShape(declared);
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::CreateZeros(declared));
  CopyElements(ByteCount(actual.type()), actual.data(), View::Dense(actual.dims()), result.mutable_data(),
               View::Dense(result.dims()).Window(Zeros(actual.rank()), actual.dims()));
  for (int64_t d = 0; d < declared.rank(); ++d) result.set_dynamic_size(d, actual.dim(d));
  return result;
}

namespace {

Index ActualDims(const Literal& array) {
  Index dims = array.dims();
  for (int64_t d = 0; d < dims.rank(); ++d) dims[d] = array.dynamic_size(d);
  return dims;
}

// Returns the first `dims` elements along each dimension as a static array.
absl::StatusOr<Literal> Cropped(const Literal& array, const Index& dims) {
  if (!array.has_dynamic_sizes() && array.dims() == absl::MakeConstSpan(dims)) return array;
  const View part = View::Dense(array.dims()).Window(Zeros(array.rank()), dims);
  return Copied(array, part, Shape::Array(array.type(), dims));
}

// Returns an array with the run-time sizes of another array of the same bounds.
Literal WithSizesOf(const Literal& sized, const Literal& array) {
  Literal result = array.WithShape(sized.shape());
  for (int64_t d = 0; d < sized.rank() && sized.has_dynamic_sizes(); ++d) {
    result.set_dynamic_size(d, sized.dynamic_size(d));
  }
  return result;
}

// Sizes of operands.

// True for a dynamic dimension of an operand, also if it is declared static.
bool HasDynamicSize(const Instruction& instruction, size_t operand, int64_t dimension, int64_t size) {
  const Shape& shape = instruction.operand(static_cast<int64_t>(operand))->shape();
  return shape.IsDynamic(dimension) || size != shape.dim(dimension);
}

// Returns the common sizes of elementwise operands. Only operands whose dimension is dynamic count, and only
// operand 1 of a clamp. The size is that of operands larger than 1, because a single element is repeated; if
// there are none, it is the smallest.
Index CommonDims(const Instruction& instruction, absl::Span<const Literal> operands) {
  Index common = instruction.shape().dims();
  for (int64_t d = 0; d < common.rank(); ++d) {
    int64_t least = Shape::kUnbounded, least_of_many = Shape::kUnbounded;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].rank() == 0 || (instruction.opcode() == Opcode::kClamp && i != 1)) continue;
      const int64_t size = operands[i].dynamic_size(d);
      if (!HasDynamicSize(instruction, i, d, size)) continue;
      least = least == Shape::kUnbounded ? size : std::min(least, size);
      if (size > 1) least_of_many = least_of_many == Shape::kUnbounded ? size : std::min(least_of_many, size);
    }
    if (least == Shape::kUnbounded) continue;
    common[d] = least == 1 && least_of_many != Shape::kUnbounded ? least_of_many : least;
  }
  return common;
}

// Returns the array with these sizes. A dynamic dimension of size 1 is repeated if `repeats`.
absl::StatusOr<Literal> Stretched(const Literal& array, const Index& dims, bool repeats) {
  if (array.rank() == 0) return array;
  View from = View::Dense(array.dims());
  for (int64_t d = 0; d < dims.rank(); ++d) {
    const bool is_single = repeats && array.dynamic_size(d) == 1 && dims[d] > 1;
    if (is_single || array.dim(d) < dims[d]) from.strides[d] = 0;
  }
  from.dims = dims;
  return Copied(array, from, Shape::Array(array.type(), dims));
}

// Reduces the sizes of paired dimensions of two operands to their minimum.
void ShrinkPairs(IntList a_dims, IntList b_dims, Index* a, Index* b) {
  for (size_t k = 0; k < a_dims.size(); ++k) {
    int64_t &left = (*a)[a_dims[k]], &right = (*b)[b_dims[k]];
    left = right = std::min(left, right);
  }
}

// Gives arrays of one rank the same sizes, except along `free`: those of the last one whose dimension is
// dynamic.
void EqualizeDims(const Instruction& instruction, int64_t free, absl::Span<Index> dims) {
  for (int64_t d = 0; d < dims[0].rank(); ++d) {
    if (d == free) continue;
    std::optional<int64_t> size;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].rank() == dims[0].rank() && HasDynamicSize(instruction, i, d, dims[i][d]))
        size = dims[i][d];
    }
    for (Index& each : dims) {
      if (size && each.rank() == dims[0].rank()) each[d] = *size;
    }
  }
}

// Makes the number of updates equal to the number of indices.
void CountUpdates(const Instruction& scatter, absl::Span<Index> dims) {
  const auto inputs = dims.size() / 2;
  const IntList windows = scatter.Get<attr::update_window_dims>();
  const auto vector_dim = scatter.Get<attr::index_vector_dim>();
  int64_t i = 0;
  for (int64_t d = 0; d < dims[inputs + 1].rank(); ++d) {
    if (Contains(windows, d)) continue;
    if (i == vector_dim) ++i;
    for (size_t u = inputs + 1; u < dims.size(); ++u) dims[u][d] = dims[inputs][i];
    ++i;
  }
}

// Selects all rows, up to the size of the first operand that is dynamic in the sorted dimension.
void SortPrefix(const Instruction& sort, absl::Span<const Literal> operands, absl::Span<Index> dims) {
  const int64_t dimension = sort.Get<attr::dimensions>()[0];
  std::optional<int64_t> size;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!size && HasDynamicSize(sort, i, dimension, dims[i][dimension])) size = dims[i][dimension];
    dims[i] = operands[i].dims();
  }
  for (Index& each : dims) each[dimension] = size.value_or(each[dimension]);
}

// Returns the sizes of the operands that the instruction uses.
std::vector<Index> OperandDims(const Instruction& instruction, absl::Span<const Literal> operands) {
  std::vector<Index> dims;
  for (const Literal& operand : operands) dims.push_back(ActualDims(operand));
  IntList slice_sizes;
  switch (instruction.opcode()) {
    case Opcode::kDot:  // Elements beyond the other side's size would be multiplied by zeros.
      ShrinkPairs(instruction.Get<attr::lhs_contracting_dims>(),
                  instruction.Get<attr::rhs_contracting_dims>(), &dims[0], &dims[1]);
      ShrinkPairs(instruction.Get<attr::lhs_batch_dims>(), instruction.Get<attr::rhs_batch_dims>(), &dims[0],
                  &dims[1]);
      return dims;
    case Opcode::kConvolution:
      if (instruction.Get<attr::feature_group_count>(1) == 1 &&
          instruction.Get<attr::batch_group_count>(1) == 1) {
        const DimLabels& labels = *instruction.Get<attr::dim_labels>();
        ShrinkPairs({&labels.input_feature, 1}, {&labels.kernel_input_feature, 1}, &dims[0], &dims[1]);
      }
      return dims;
    case Opcode::kScatter:
      CountUpdates(instruction, absl::MakeSpan(dims));
      return dims;
    case Opcode::kSort:
      SortPrefix(instruction, operands, absl::MakeSpan(dims));
      return dims;
    case Opcode::kDynamicUpdateSlice:
      dims[0] = operands[0].dims();
      return dims;
    case Opcode::kConcatenate:
      EqualizeDims(instruction, instruction.Get<attr::dimensions>()[0], absl::MakeSpan(dims));
      return dims;
    case Opcode::kReduce:
      EqualizeDims(instruction, -1, absl::MakeSpan(dims));
      return dims;
    case Opcode::kSlice:  // A single element is static.
      for (int64_t d = 0; d < operands[0].rank(); ++d) {
        if (instruction.shape().dim(d) == 1) dims[0][d] = operands[0].dim(d);
      }
      return dims;
    case Opcode::kDynamicSlice:
    case Opcode::kGather:  // Only dimensions that are sliced whole keep their run-time size.
      slice_sizes = instruction.opcode() == Opcode::kGather ? instruction.Get<attr::slice_sizes>()
                                                            : instruction.Get<attr::dynamic_slice_sizes>();
      for (int64_t d = 0; d < operands[0].rank(); ++d) {
        const bool is_single = slice_sizes[d] == 1 && instruction.opcode() == Opcode::kDynamicSlice;
        if (is_single || slice_sizes[d] != operands[0].dim(d)) dims[0][d] = operands[0].dim(d);
      }
      return dims;
    default:
      return dims;
  }
}

// Instructions at run-time sizes.

// Attribute values that contain sizes, adjusted to the run-time sizes.
struct ActualAttributes {
  std::vector<SliceRange> slice;
  Index slice_sizes;
  std::vector<AttrEntry> entries;
};

void FitAttributes(const Instruction& instruction, const Literal& operand, ActualAttributes* actual) {
  actual->entries.assign(instruction.attributes().begin(), instruction.attributes().end());
  for (AttrEntry& entry : actual->entries) {
    if (entry.id == AttrId::slice) {
      for (SliceRange range : instruction.Get<attr::slice>()) {
        range.limit = std::min(range.limit, operand.dim(static_cast<int64_t>(actual->slice.size())));
        range.start = std::min(range.start, range.limit);
        actual->slice.push_back(range);
      }
      entry.value = AttrValue::Of(absl::MakeConstSpan(actual->slice));
    } else if (entry.id == AttrId::slice_sizes || entry.id == AttrId::dynamic_slice_sizes) {
      for (int64_t size : entry.value.As<IntList>()) {
        actual->slice_sizes.push_back(std::min(size, operand.dim(actual->slice_sizes.rank())));
      }
      entry.value = AttrValue::Of(IntList(actual->slice_sizes));
    }
  }
}

// Dimensions of the operand and of the result of a reshape with equal products.
struct ReshapeGroup {
  int64_t in, in_end, out, out_end;
};

// Returns the smallest groups. Equal dimensions are a group, but a dynamic dimension of size 1 and a static
// one are not.
std::vector<ReshapeGroup> ReshapeGroups(const Shape& in, const Shape& out) {
  // Sorts static dimensions of size 1 before dynamic ones, and these before longer dimensions.
  const auto order = [](const Shape& shape, int64_t d) {
    return shape.dim(d) == 1 && !shape.IsDynamic(d) ? 0 : shape.dim(d);
  };
  std::vector<ReshapeGroup> groups;
  for (int64_t i = 0, o = 0; i < in.rank() || o < out.rank();) {
    ReshapeGroup group{i, i, o, o};
    const bool takes_in = o == out.rank() || (i < in.rank() && order(in, i) <= order(out, o));
    const bool takes_out = i == in.rank() || (o < out.rank() && order(out, o) <= order(in, i));
    int64_t in_product = takes_in ? in.dim(i++) : 1, out_product = takes_out ? out.dim(o++) : 1;
    while (in_product != out_product && (i < in.rank() || o < out.rank())) {
      if (i < in.rank() && (in_product < out_product || o == out.rank()))
        in_product *= in.dim(i++);
      else
        out_product *= out.dim(o++);
    }
    group.in_end = i;
    group.out_end = o;
    groups.push_back(group);
  }
  return groups;
}

// Sizes in a group scale with the operand's run-time size, rounded down. If the result has several dimensions
// in the group, the change applies to `inferred_dimension`, or else the dynamic dimension, or else the first,
// without those of size 1.
absl::StatusOr<Index> ReshapedDims(const Instruction& reshape, const Shape& bounds,
                                   absl::Span<const int64_t> actual) {
  const Shape& declared = reshape.shape();
  const int64_t inferred = reshape.Get<attr::inferred_dimension>(-1);
  Index result = declared.dims();
  for (const ReshapeGroup& group : ReshapeGroups(bounds, declared)) {
    const int64_t bound = Product(bounds.dims().subspan(group.in, group.in_end - group.in));
    const int64_t size = Product(actual.subspan(group.in, group.in_end - group.in));
    if (size == bound) continue;
    if (size == 0 && group.out == group.out_end && !result.empty()) {  // A lost dimension empties the result.
      int64_t emptied = 0;
      while (emptied + 1 < result.rank() && !declared.IsDynamic(emptied)) ++emptied;
      result[emptied] = 0;
      continue;
    }
    int64_t changing = group.out;
    while (changing + 1 < group.out_end && result[changing] == 1) ++changing;
    for (int64_t o = group.out_end - 1; o >= group.out; --o) {
      if (declared.IsDynamic(o) && result[o] != 1) changing = o;
    }
    if (group.out <= inferred && inferred < group.out_end) changing = inferred;
    if (group.out == group.out_end) {
      return absl::FailedPreconditionError(
          fmt::format("{} of {} cannot fill {}", size, Counted(bound, "element"), ToString(declared)));
    }
    result[changing] = result[changing] * size / bound;
  }
  return result;
}

// Returns the operand of a reshape without the elements at the end of each group that fill no whole row of
// the result.
absl::StatusOr<Literal> WithoutSurplus(const Literal& operand, const Instruction& reshape,
                                       const Shape& bounds, const Shape& actual) {
  if (operand.element_count() == Product(actual.dims())) return operand;
  Index in, out;
  for (const ReshapeGroup& group : ReshapeGroups(bounds, reshape.shape())) {
    in.push_back(Product(operand.dims().subspan(group.in, group.in_end - group.in)));
    out.push_back(Product(actual.dims().subspan(group.out, group.out_end - group.out)));
  }
  return Cropped(operand.WithShape(Shape::Array(operand.type(), in)), out);
}

// True if result elements depend only on operand elements of the same index.
bool IsByElement(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return (Info(opcode).has(kElementwise) && opcode != Opcode::kBitcastConvert) || opcode == Opcode::kClamp ||
         opcode == Opcode::kMap || opcode == Opcode::kSelect;
}

// Returns the result shape for operands of the run-time sizes in `actual`.
absl::StatusOr<Shape> ActualShape(const Instruction& instruction, const Shape& operand_bounds,
                                  const Instruction& actual) {
  const Shape& declared = instruction.shape();
  const Shape& operand = actual.operand(0)->shape();
  if (IsByElement(instruction)) {
    Index dims;
    for (const Instruction* each : actual.operands()) {
      if (each->shape().rank() == declared.rank()) dims = each->shape().dims();
    }
    return Shape::Array(declared.type(), dims);
  }
  if (instruction.opcode() == Opcode::kBroadcast) {
    Index dims = declared.dims();
    const IntList dimensions = instruction.Get<attr::dimensions>();
    for (size_t k = 0; k < dimensions.size(); ++k) dims[dimensions[k]] = operand.dim(k);
    return Shape::Array(declared.type(), dims);
  }
  if (instruction.opcode() == Opcode::kReshape) {
    HLO_ASSIGN_OR_RETURN(const Index dims, ReshapedDims(instruction, operand_bounds, operand.dims()));
    return Shape::Array(declared.type(), dims);
  }
  if (instruction.opcode() == Opcode::kBitcastConvert) {
    Index dims = declared.dims();
    for (int64_t d = 0; d < std::min(dims.rank(), operand.rank()); ++d) dims[d] = operand.dim(d);
    return Shape::Array(declared.type(), dims);
  }
  // If the source has fewer elements than there are windows, the last windows are ignored.
  if (instruction.opcode() == Opcode::kSelectAndScatter) return Shape::Array(declared.type(), operand.dims());
  Diagnostics diagnostics;
  Shape inferred = InferShape(actual, diagnostics);
  if (inferred.IsArray()) inferred.set_type(declared.type());
  if (inferred.IsValid()) return inferred;
  return absl::FailedPreconditionError(
      fmt::format("the sizes at run time do not fit: {}", diagnostics.all().front().message));
}

// Clamps the start of an update as for an update of its bounds.
absl::Status ClampStarts(const OpContext& context, absl::Span<Literal> operands) {
  int64_t d = 0;
  for (Literal& start : operands.subspan(2)) {
    HLO_ASSIGN_OR_RETURN(start, AsIndices(start));
    for (int64_t& index : start.mutable_span<int64_t>()) {
      index = std::min(index, context.operands[0].dim(d) - context.operands[1].dim(d));
      ++d;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Literal>> ActualOperands(const OpContext& context) {
  std::vector<Literal> actual;
  if (IsByElement(context.instruction)) {
    const Index dims = CommonDims(context.instruction, context.operands);
    const bool repeats = context.operands.size() == 2;
    for (const Literal& operand : context.operands) {
      HLO_ASSIGN_OR_RETURN(Literal stretched, Stretched(operand, dims, repeats));
      actual.push_back(std::move(stretched));
    }
    return actual;
  }
  std::vector<Index> dims = OperandDims(context.instruction, context.operands);
  for (size_t i = 0; i < context.operands.size(); ++i) {
    for (int64_t d = 0; d < dims[i].rank(); ++d)
      dims[i][d] = std::min(dims[i][d], context.operands[i].dim(d));
    HLO_ASSIGN_OR_RETURN(Literal cropped, Cropped(context.operands[i], dims[i]));
    actual.push_back(std::move(cropped));
  }
  if (context.instruction.opcode() == Opcode::kDynamicUpdateSlice)
    HLO_RETURN_IF_ERROR(ClampStarts(context, absl::MakeSpan(actual)));
  return actual;
}

// An update that replaces a whole dimension also gives it its size.
Literal UpdatedAtBounds(const OpContext& context, const Literal& values) {
  Literal result = WithSizesOf(context.operands[0], values);
  const Shape& update = context.instruction.operand(1)->shape();
  for (int64_t d = 0; d < update.rank(); ++d) {
    const int64_t size = context.operands[1].dynamic_size(d);
    if (update.dim(d) == result.dim(d) && HasDynamicSize(context.instruction, 1, d, size))
      result.set_dynamic_size(d, size);
  }
  return result;
}

// Returns the operands with their sorted prefixes.
absl::StatusOr<Literal> SortedAtBounds(const OpContext& context, const Literal& sorted) {
  std::vector<Literal> results;
  for (size_t i = 0; i < context.operands.size(); ++i) {
    const Literal& part = sorted.shape().IsTuple() ? sorted.element(i) : sorted;
    const Literal& operand = context.operands[i];
    HLO_ASSIGN_OR_RETURN(Literal whole, Copied(operand, View::Dense(operand.dims()),
                                               Shape::Array(operand.type(), operand.dims())));
    CopyElements(ByteCount(part.type()), part.data(), View::Dense(part.dims()), whole.mutable_data(),
                 View::Dense(whole.dims()).Window(Zeros(part.rank()), part.dims()));
    results.push_back(WithSizesOf(operand, whole));
  }
  return sorted.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace

bool NeedsActualSizes(const Instruction& instruction, absl::Span<const Literal> operands) {
  const bool any =
      std::any_of(operands.begin(), operands.end(), [](const Literal& x) { return x.has_dynamic_sizes(); });
  const OpcodeInfo& info = Info(instruction.opcode());
  return any && !info.has(kCollective) && !info.has(kTakesDynamicSizes);
}

absl::StatusOr<Literal> AtActualSizes(OpContext& context, ReferenceOp op) {
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> operands, ActualOperands(context));
  ActualAttributes attributes;
  FitAttributes(context.instruction, operands[0], &attributes);
  Module module(nullptr);
  Computation* computation = module.NewComputation("actual");
  std::vector<Instruction*> parameters;
  for (const Literal& operand : operands) {
    parameters.push_back(
        module.AddInstruction(computation, Opcode::kParameter, "operand", operand.shape(), {}, {}));
  }
  Instruction* actual =
      module.AddInstruction(computation, context.instruction.opcode(), context.instruction.name(), Shape(),
                            parameters, attributes.entries);
  const Shape& bounds = context.operands[0].shape();
  HLO_ASSIGN_OR_RETURN(Shape shape, ActualShape(context.instruction, bounds, *actual));
  if (context.instruction.opcode() == Opcode::kReshape) {
    HLO_ASSIGN_OR_RETURN(operands[0], WithoutSurplus(operands[0], context.instruction, bounds, shape));
  }
  InstructionEditor::SetShape(*actual, std::move(shape));
  OpContext actual_context{*actual, absl::MakeSpan(operands), context.caller, &context.instruction};
  HLO_ASSIGN_OR_RETURN(Literal result, op(actual_context));
  switch (context.instruction.opcode()) {
    case Opcode::kDynamicUpdateSlice:
      return UpdatedAtBounds(context, result);
    case Opcode::kSort:
      return SortedAtBounds(context, result);
    default:
      return PaddedToBounds(result, context.shape());
  }
}

absl::Status CheckRunTimeSize(const Instruction& instruction, int64_t dimension, int64_t size) {
  const Shape& shape = instruction.shape();
  const int64_t bound = shape.dim(dimension);
  // Custom calls give sizes of static dimensions too.
  const bool may_be_smaller = instruction.opcode() != Opcode::kCustomCall || shape.IsDynamic(dimension);
  if (size == bound || (may_be_smaller && 0 <= size && size < bound)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("dimension {} of {} cannot have the size {}", dimension, ToString(shape), size));
}

// Returns the run-time size of a dimension, or its static size.
absl::StatusOr<Literal> GetDimensionSize(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  const int64_t dimension = context.instruction.Get<attr::dimensions>()[0];
  result.mutable_span<int32_t>()[0] = static_cast<int32_t>(context.operands[0].dynamic_size(dimension));
  return result;
}

// Returns the same elements with the run-time size of a dimension set.
absl::StatusOr<Literal> SetDimensionSize(OpContext& context) {
  const int64_t dimension = context.instruction.Get<attr::dimensions>()[0];
  const int64_t size = context.operands[1].span<int32_t>()[0], bound = context.operands[0].dim(dimension);
  HLO_RETURN_IF_ERROR(CheckRunTimeSize(context.instruction, dimension, size));
  Literal result = context.operands[0].WithShape(context.shape());
  if (size != bound || result.has_dynamic_sizes()) result.set_dynamic_size(dimension, size);
  return result;
}

// Returns the operand's elements within its run-time sizes in row-major order, as an array of the sizes in
// the other operands.
absl::StatusOr<Literal> DynamicReshape(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const Literal elements, Cropped(context.operands[0], ActualDims(context.operands[0])));
  Index dims;
  for (const Literal& size : context.operands.subspan(1)) dims.push_back(size.span<int32_t>()[0]);
  const bool fits = InBounds(dims, Index(context.shape().dims()) + Index(dims.size(), 1));
  if (!fits || Product(dims) != elements.element_count()) {
    return absl::FailedPreconditionError(fmt::format("{} cannot fill an array of the sizes {{{}}} within {}",
                                                     Counted(elements.element_count(), "element"),
                                                     fmt::join(dims, ","), ToString(context.shape())));
  }
  return PaddedToBounds(elements.WithShape(Shape::Array(elements.type(), dims)), context.shape());
}

}  // namespace hlo::reference
