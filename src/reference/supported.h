#pragma once
// Checks which parts of a module this build can evaluate, and formats locations of instructions for messages.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo_run/module.h"
#include "hlo_run/run.h"

namespace hlo::reference {

// Returns OK, or Unimplemented with each instruction of these computations that cannot be evaluated.
absl::Status CheckSupported(const std::vector<const Computation*>& computations,
                            const EvaluateOptions& options);
// Returns FailedPrecondition if a computation needs something that the run's caller has not supplied: the
// elements of an elided constant, or a host to read from.
absl::Status CheckSupplies(const std::vector<const Computation*>& computations,
                           const EvaluateOptions& options);

// Returns `m.hlo:4:12: `, or "" if the location is unknown.
std::string PlaceOf(const Instruction& instruction);
// Returns `'r' (f32[2] add)`.
std::string Describe(const Instruction& instruction);
// Returns the status with both before its message.
absl::Status Located(const absl::Status& status, const Instruction& instruction);

}  // namespace hlo::reference
