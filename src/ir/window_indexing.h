#pragma once
// The dimension numbers that gather and scatter share.

#include "hlo_run/module.h"

namespace hlo {

// Returns whether a gather or scatter indexes each dimension of its operand at most once, and its pairs of
// batching dimensions exist and agree in size. The checker accepts the others with a warning: the batch
// position wins (semantics 4.2), which only the reference implements. Kernels refuse them.
bool HasUnambiguousIndices(const Instruction& instruction);

}  // namespace hlo
