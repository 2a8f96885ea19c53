#pragma once
// Checks which parts of a module this build can evaluate, and formats locations of instructions for messages.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo_run/module.h"
#include "hlo_run/run.h"
#include "ir/place.h"

namespace hlo::reference {

// Returns OK, or Unimplemented with each instruction of these computations that cannot be evaluated.
absl::Status CheckSupported(const std::vector<const Computation*>& computations,
                            const EvaluateOptions& options);
// Returns Unimplemented if a computation needs other devices and the run has one.
absl::Status CheckPeers(const std::vector<const Computation*>& computations, const EvaluateOptions& options);
// Returns FailedPrecondition if a computation needs something that the run's caller has not supplied: the
// elements of an elided constant, or a host to read from.
absl::Status CheckSupplies(const std::vector<const Computation*>& computations,
                           const EvaluateOptions& options);

// Returns FailedPrecondition if a run of the module needs the elements of an elided constant.
absl::Status CheckElements(const Module& module);

using hlo::Describe;
using hlo::PlaceOf;
// Returns the status with the instruction's location and description before its message.
absl::Status Located(const absl::Status& status, const Instruction& instruction);

}  // namespace hlo::reference
