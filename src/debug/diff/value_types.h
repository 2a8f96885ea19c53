#pragma once
// Values whose element types a pass changed: a state in bf16 that became f32, or a counter in s32 that became
// s64.

#include <cstdint>
#include <string>
#include <vector>

#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// True if one type can stand for the other: both are floats, complex numbers, or signed or unsigned integers.
bool IsSameKind(ElementType a, ElementType b);
// Returns the widest type of the same kind.
ElementType WidestOfKind(ElementType type);
// Returns the shape with the widest types of the same kinds, without layouts.
Shape WithWidestTypes(const Shape& shape);
// True if values of both shapes can be compared: their dimensions are equal and their types of the same
// kinds.
bool IsComparable(const Shape& a, const Shape& b);
// True if both are arrays with the same elements in the same order: their types are comparable, and their
// dimensions differ only in those of size 1.
bool HasSameElements(const Shape& a, const Shape& b);
// True if both shapes have the same types, too.
bool HasSameTypes(const Shape& a, const Shape& b);
// True for conversions between types of the same kind.
bool IsConversionOfKind(const Instruction& instruction);
// Follows conversions between types of the same kind upwards.
const Instruction* WithoutConversions(const Instruction* instruction);

// Converts a value, as `convert` does, to a shape that is comparable or has the same elements.
Literal ConvertTo(const Literal& value, const Shape& shape);
// Rounds the wider of two arrays with the same elements to the type of the narrower one, and gives both the
// dimensions of `a`.
struct CommonTypes {
  Literal a, b;
};
CommonTypes InNarrowerType(const Literal& a, const Literal& b);
// Returns the values nearest to `a` that round to the same values of the type of `b` as `b` does, in the
// shape of `a`. Thus, if `b` has a narrower type, its last rounding is no error.
Literal NearestUnrounded(const Literal& a, const Literal& b);

}  // namespace hlo::debug
