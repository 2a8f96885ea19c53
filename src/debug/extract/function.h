#pragma once
// Calls a computation of a module many times, for loops that run one iteration at a time.

#include <memory>

#include "debug/extract/flat_module.h"
#include "hlo_run/execute.h"

namespace hlo::debug {

class Function {
 public:
  static absl::StatusOr<Function> Make(std::shared_ptr<const Module> module, const Computation& computation,
                                       Engine engine, const EvaluateOptions& options);
  // Calls a computation with at most one parameter.
  absl::StatusOr<Literal> Call(const Literal& argument, const EvaluateOptions& options);
  // Calls it on all devices of the module, with the arguments of all (see AllDevices); returns all results.
  absl::StatusOr<Literal> CallOnAllDevices(const Literal& arguments, const EvaluateOptions& options);

 private:
  std::unique_ptr<FlatModule> flat_;
  std::unique_ptr<Cone> cone_;
  std::unique_ptr<Executable> executable_;
};

// Returns the value of a pred scalar.
bool IsTrue(const Literal& condition);
// Returns the number of the branch that a conditional runs.
int64_t BranchOf(const Instruction& conditional, const Literal& selector);

}  // namespace hlo::debug
