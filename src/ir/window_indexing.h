#pragma once
// Properties of the dimension numbers of gather and scatter.

#include "hlo_run/module.h"

namespace hlo {

// True if a gather or scatter indexes each operand dimension at most once, and its batching dimensions exist
// and agree in size. The checker accepts others with a warning: the batch position wins (semantics 4.2),
// which only the reference implements.
bool HasUnambiguousIndices(const Instruction& instruction);

}  // namespace hlo
