#pragma once
// Element type promotion.

#include "hlo_run/element_type.h"

namespace hlo {

// Compares two types by complexity, exponent range, precision, width and signedness, in this order
// (shape-rules 1.1). Returns a negative number if `a` is the lower type, a positive one if it is the higher,
// otherwise 0.
int ComparePrecedence(ElementType a, ElementType b);

// Returns the higher type, or the first if neither is higher.
inline ElementType Promoted(ElementType a, ElementType b) { return ComparePrecedence(a, b) < 0 ? b : a; }

// Returns the accumulation type of a dot or convolution, to which its sums are rounded. It is the result type
// if that can represent the class of the operands. Otherwise (floats to integers, complex to real, numbers to
// pred) it is the promoted operand type, and a conversion to the result type follows.
ElementType ProductType(ElementType lhs, ElementType rhs, ElementType result);

}  // namespace hlo
