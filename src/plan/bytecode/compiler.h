#pragma once
// Compiles the steps of a plan to bytecode.

#include "plan/plan.h"

namespace hlo::plan {

// Makes the plan's code where it has steps that gain by it. Extends the arena; the steps must stay where they
// are from then on.
struct CompileOptions {
  bool load_cse = true;          // Reads again what the frame holds already.
  bool move_elimination = true;  // Computes next states where the state is stored.
};
void CompilePlan(Plan& plan, const CompileOptions& options = {});

}  // namespace hlo::plan
