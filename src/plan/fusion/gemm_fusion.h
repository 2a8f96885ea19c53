#pragma once
// GEMM fusion: loops over the operands or the result of a dot or convolution run in its prologue or epilogue,
// block by block. The product itself is never stored as a whole, or shares its buffer with the loop's result.

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Fuses loops into products with results of at least `min_bytes` bytes. Slots of the steps are still value
// numbers.
void FuseGemms(Plan& plan, int64_t min_bytes, ChangeCounter& changes);

}  // namespace hlo::plan
