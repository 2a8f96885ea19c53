#pragma once
// Reductions and dots whose results have one term each. As in XLA, they do not begin with an initial value or
// +0, so they keep the sign of -0 (semantics 5.1, 6.1).

#include "hlo_run/module.h"

namespace hlo {

// True if a reduce combines no elements: its results are its operands without dimensions of size 1, because
// the initial values are neutral.
bool ReducesSingleElements(const Instruction& reduce);

// True if a dot of floats or complex numbers contracts one pair for each result.
bool IsSingleProduct(const Instruction& dot);

}  // namespace hlo
