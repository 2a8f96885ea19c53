#pragma once
// Loops over whole arrays for the common combiners of collectives.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"

namespace hlo::reference {

// Computes sums[i] = operation(sums[i], values[i]) for i < count; both are arrays of the loop's type. The
// results have the bits of a ScalarStep of the operation (elementwise.h), except for the payloads of NaNs.
using FoldLoop = void (*)(void* sums, const void* values, int64_t count);

// Returns the loop of an addition, multiplication, maximum, minimum, conjunction or disjunction; nullptr for
// other operations, and for types on which C++ has no arithmetic of this rounding.
FoldLoop FindFoldLoop(Opcode opcode, ElementType type);

}  // namespace hlo::reference
