#pragma once
// A compiled module and its execution from Python.

#include <vector>

#include "hlo_run/execute.h"
#include "python/bindings.h"

namespace hlo::python {

struct PlannedModule {
  ModulePtr module;
  Executable executable;
};

// Runs without the GIL. Raises the exception of a failure, or KeyboardInterrupt.
Literal RunOrRaise(PlannedModule& planned, const std::vector<Literal>& arguments, EvaluateOptions options,
                   bool can_interrupt);

}  // namespace hlo::python
