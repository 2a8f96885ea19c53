#pragma once
// What several families of shape rules need: sets of types, sizes, dimension numbers, and words for messages.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "check/rules.h"
#include "hlo_run/element_type.h"
#include "hlo_run/shape.h"

namespace hlo::check {

// --- Types (shape-rules 1.1, 1.2)
// --------------------------------------------------------------------------------

// Sets of type classes, as bits.
using TypeSet = uint32_t;
constexpr TypeSet SetOf(TypeClass type_class) { return TypeSet{1} << static_cast<int>(type_class); }
inline constexpr TypeSet kPredSet = SetOf(TypeClass::kPred);
inline constexpr TypeSet kSignedSet = SetOf(TypeClass::kSigned);
inline constexpr TypeSet kIntegralSet = kSignedSet | SetOf(TypeClass::kUnsigned);
inline constexpr TypeSet kFloatSet = SetOf(TypeClass::kFloat);
inline constexpr TypeSet kComplexSet = SetOf(TypeClass::kComplex);
inline constexpr TypeSet kAllTypes = kPredSet | kIntegralSet | kFloatSet | kComplexSet;
inline bool Contains(TypeSet set, ElementType type) { return (set & SetOf(Info(type).type_class)) != 0; }
// "floating or complex"
std::string Words(TypeSet set);

// Equal, or both floating.
inline bool SameFp(ElementType a, ElementType b) { return a == b || (IsFloat(a) && IsFloat(b)); }
// The type that holds both: the wider float, complex over real, float over integer.
ElementType Higher(RuleContext& context, ElementType a, ElementType b, std::string_view rule);

// --- Sizes
// -------------------------------------------------------------------------------------------------------

// Equal, or one is `?`.
inline bool SizesOk(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded;
}
inline bool InRange(int64_t value, int64_t size) { return value >= 0 && value < size; }
inline bool Contains(IntList list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// S(n) of a layout (shape-rules 1.4).
inline constexpr int64_t kHostMemory = 5;
inline int64_t MemorySpace(const Shape& shape) { return shape.layout() ? shape.layout()->memory_space : 0; }

// Product of the sizes with `?` left out; false when it does not fit.
bool BoundProduct(const Shape& shape, int64_t* product);

// All numbers in [0, rank) and none twice; reports the first that is not, at `at`.
bool DistinctDimensions(RuleContext& context, SourceRange at, std::string_view rule, std::string_view what,
                        IntList numbers, int64_t rank);
// Also ascending.
bool AscendingDimensions(RuleContext& context, SourceRange at, std::string_view rule, std::string_view what,
                         IntList numbers, int64_t rank);

// --- Operands
// ----------------------------------------------------------------------------------------------------

// Reports an operand that is not an array.
bool RequireArray(RuleContext& context, int64_t i, std::string_view rule);
bool RequireArrays(RuleContext& context, std::string_view rule);
// A floating or otherwise restricted operand.
bool RequireType(RuleContext& context, int64_t i, TypeSet set, std::string_view rule);

// --- Words
// -------------------------------------------------------------------------------------------------------

inline std::string Text(const Shape& shape) { return ToString(shape); }
// `{1,2}`
std::string Text(IntList numbers);
std::string SizeText(int64_t size);  // `?` for an unbounded one.

// The one number of `dimensions`, checked to be there.
bool OneDimension(RuleContext& context, std::string_view rule, int64_t* dimension);

}  // namespace hlo::check
