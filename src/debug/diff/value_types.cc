#include "debug/diff/value_types.h"

#include <algorithm>
#include <iterator>

#include "reference/arrays.h"
#include "types/shape_leaves.h"

namespace hlo::debug {
namespace {

// Conversions fail only if there is no memory; then the run of what reads the value reports its type.
Literal ArrayAs(const Literal& array, ElementType type) {
  absl::StatusOr<Literal> converted = reference::WithType(array, type);
  return converted.ok() ? *std::move(converted) : array;
}

// Gives an array the dimensions of another one with the same elements.
Literal WithDims(const Literal& array, absl::Span<const int64_t> dims) {
  return array.dims() == dims ? array : array.WithShape(Shape::Array(array.type(), dims));
}

}  // namespace

ElementType WidestOfKind(ElementType type) {
  if (IsFloat(type)) return ElementType::kF64;
  if (IsComplex(type)) return ElementType::kC128;
  if (IsSigned(type)) return ElementType::kS64;
  return IsIntegral(type) ? ElementType::kU64 : type;
}

bool IsSameKind(ElementType a, ElementType b) { return WidestOfKind(a) == WidestOfKind(b); }

Shape WithWidestTypes(const Shape& shape) {
  return MapLeaves(shape, [](const Shape& leaf) {
    return leaf.IsArray() ? Shape::Array(WidestOfKind(leaf.type()), leaf.dims()) : leaf;
  });
}

bool HasSameTypes(const Shape& a, const Shape& b) {
  return Equal(a, b, {.ignore_layout = true, .ignore_dynamic = true});
}

bool IsComparable(const Shape& a, const Shape& b) {
  if (HasSameTypes(a, b)) return true;
  if (a.IsArray() && b.IsArray())
    return IsSameKind(a.type(), b.type()) &&
           std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end());
  if (!a.IsTuple() || !b.IsTuple() || a.elements().size() != b.elements().size()) return false;
  return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), IsComparable);
}

bool HasSameElements(const Shape& a, const Shape& b) {
  if (!a.IsArray() || !b.IsArray() || !IsSameKind(a.type(), b.type()) || a.HasDynamicDim() ||
      b.HasDynamicDim())
    return false;
  const auto without_ones = [](absl::Span<const int64_t> dims) {
    std::vector<int64_t> kept;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(kept), [](int64_t dim) { return dim != 1; });
    return kept;
  };
  return without_ones(a.dims()) == without_ones(b.dims());
}

bool IsConversionOfKind(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConvert &&
         IsSameKind(instruction.shape().type(), instruction.operand(0)->shape().type());
}

const Instruction* WithoutConversions(const Instruction* instruction) {
  while (IsConversionOfKind(*instruction)) instruction = instruction->operand(0);
  return instruction;
}

Literal ConvertTo(const Literal& value, const Shape& shape) {
  if (value.shape().IsArray()) return WithDims(ArrayAs(value, shape.type()), shape.dims());
  if (!value.shape().IsTuple()) return value;
  std::vector<Literal> elements;
  for (size_t i = 0; i < value.elements().size(); ++i)
    elements.push_back(ConvertTo(value.elements()[i], shape.elements()[i]));
  return Literal::Tuple(std::move(elements));
}

CommonTypes InNarrowerType(const Literal& a, const Literal& in_other_dims) {
  const Literal b = WithDims(in_other_dims, a.dims());
  if (a.type() == b.type()) return {a, b};
  return BitWidth(a.type()) < BitWidth(b.type()) ? CommonTypes{a, ArrayAs(b, a.type())}
                                                 : CommonTypes{ArrayAs(a, b.type()), b};
}

Literal NearestUnrounded(const Literal& a, const Literal& in_other_dims) {
  const Literal b = WithDims(in_other_dims, a.dims());
  if (!IsFloat(a.type()) || BitWidth(b.type()) >= BitWidth(a.type())) return ArrayAs(b, a.type());
  const Literal wide_a = ArrayAs(a, ElementType::kF64);
  const Literal rounded = ArrayAs(ArrayAs(a, b.type()), ElementType::kF64);
  Literal result = ArrayAs(b, ElementType::kF64);
  for (const Literal* each : {&wide_a, &rounded, static_cast<const Literal*>(&result)}) {
    if (each->type() != ElementType::kF64) return ArrayAs(b, a.type());
  }
  const absl::Span<const double> from = wide_a.span<double>(), same = rounded.span<double>();
  const absl::Span<double> out = result.mutable_span<double>();
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == same[i]) out[i] = from[i];
  }
  return ArrayAs(result, a.type());
}

}  // namespace hlo::debug
