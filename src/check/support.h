#pragma once
// Shared helpers of the shape rules: type sets, sizes, dimension numbers and message texts.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "check/rules.h"
#include "hlo_run/element_type.h"
#include "hlo_run/shape.h"
#include "types/index.h"

namespace hlo::check {

// Types (shape-rules 1.1, 1.2).

// A bit set of type classes.
using TypeSet = uint32_t;
constexpr TypeSet SetOf(TypeClass type_class) { return TypeSet{1} << static_cast<int>(type_class); }
inline constexpr TypeSet kPredSet = SetOf(TypeClass::kPred);
inline constexpr TypeSet kSignedSet = SetOf(TypeClass::kSigned);
inline constexpr TypeSet kIntegralSet = kSignedSet | SetOf(TypeClass::kUnsigned);
inline constexpr TypeSet kFloatSet = SetOf(TypeClass::kFloat);
inline constexpr TypeSet kComplexSet = SetOf(TypeClass::kComplex);
inline constexpr TypeSet kAllTypes = kPredSet | kIntegralSet | kFloatSet | kComplexSet;
inline bool Contains(TypeSet set, ElementType type) { return (set & SetOf(Info(type).type_class)) != 0; }
// Returns text such as "floating or complex".
std::string DescribeTypes(TypeSet set);

// True if the types are equal or both are floats.
inline bool SameFp(ElementType a, ElementType b) { return a == b || (IsFloat(a) && IsFloat(b)); }
// Returns the type that represents both: the wider float, complex over real, float over integer.
ElementType WiderType(RuleContext& context, ElementType a, ElementType b, std::string_view rule);

// Sizes.

// True if the sizes are equal or one is `?`.
inline bool SizesMatch(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded;
}
using hlo::Contains;  // The overload for type sets would hide it.
inline bool InRange(int64_t value, int64_t size) { return value >= 0 && value < size; }

// The memory space S(n) of a layout (shape-rules 1.4).
inline constexpr int64_t kHostMemory = 5;
inline int64_t MemorySpace(const Shape& shape) { return shape.layout() ? shape.layout()->memory_space : 0; }

// Computes the product of the sizes except `?`; false on overflow.
bool BoundProduct(const Shape& shape, int64_t* product);

// Checks that all numbers are in [0, rank) and distinct; reports the first violation at `at`.
bool RequireDistinctDimensions(RuleContext& context, SourceRange at, std::string_view rule,
                               std::string_view what, IntList numbers, int64_t rank);
// Requires ascending order in addition.
bool RequireAscendingDimensions(RuleContext& context, SourceRange at, std::string_view rule,
                                std::string_view what, IntList numbers, int64_t rank);

// Operands.

// Report operands that are not arrays.
bool RequireArray(RuleContext& context, int64_t i, std::string_view rule);
bool RequireArrays(RuleContext& context, std::string_view rule);
// Requires an array whose type is in `set`.
bool RequireType(RuleContext& context, int64_t i, TypeSet set, std::string_view rule);

// Message texts.

inline std::string Text(const Shape& shape) { return ToString(shape); }
// Returns text such as `{1,2}`.
std::string Text(IntList numbers);
std::string SizeText(int64_t size);  // `?` if unbounded.

// Sets the only number in `dimensions`; reports an error unless there is exactly one.
bool RequireOneDimension(RuleContext& context, std::string_view rule, int64_t* dimension);

}  // namespace hlo::check
