#pragma once
// Recognises loops that compute each element from the element of an array at the same index. A dot or
// convolution can run them in its prologue or epilogue.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "loops/loop_program.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns the only program of a step that is a loop and updates nothing in place; null for other steps.
const loops::LoopProgram* SingleLoop(const Step& step);

// True if position i of the loop accesses element i of the array and no other.
bool IsInOrder(const loops::LoopProgram& loop, const loops::Access& access);

// Returns the only store of the loop if it is in order, else null.
const loops::Access* StoreInOrder(const loops::LoopProgram& loop);

// Returns the number of reads of an array of `count` elements, if all of them are in order; 0 otherwise, and
// if the loop's stores have run-time starts.
int64_t ReadsInOrder(const loops::LoopProgram& loop, int64_t count,
                     absl::FunctionRef<bool(int32_t)> is_array);

}  // namespace hlo::plan
