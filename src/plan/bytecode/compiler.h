#pragma once
// Compiles the steps of a plan to bytecode.

#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

// Compiles the plan if bytecode makes any of its steps faster. The code extends the arena and points to the
// steps, which must not move afterwards.
struct BytecodeOptions {
  bool load_cse = true;          // Reuses values that are already in the frame.
  bool move_elimination = true;  // Computes next states directly in the state's buffer.
};
void CompileToBytecode(Plan& plan, const BytecodeOptions& options, ChangeCounter& changes);

}  // namespace hlo::plan
