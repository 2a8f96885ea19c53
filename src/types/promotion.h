#pragma once
// The element type that two are promoted to.

#include "hlo_run/element_type.h"

namespace hlo {

// Compares two types by complexity, exponent range, precision, width and signedness, in this order
// (shape-rules 1.1): negative, zero or positive, as the first is the lower, neither, or the higher one.
int ComparePrecedence(ElementType a, ElementType b);

// Returns the higher type, the first where neither is higher.
inline ElementType Promoted(ElementType a, ElementType b) { return ComparePrecedence(a, b) < 0 ? b : a; }

// Returns the type to which a dot or convolution rounds its sums. That is the result's type if it can hold
// the class of the operands; else (floats that give integers, complex numbers that give real ones, numbers
// that give pred) the promoted type of the operands, and a conversion to the result's type follows.
ElementType ProductType(ElementType lhs, ElementType rhs, ElementType result);

}  // namespace hlo
