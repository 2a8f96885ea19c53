#pragma once
// What of a module can this build evaluate? And where an instruction stands, for messages.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo_run/module.h"
#include "hlo_run/run.h"

namespace hlo::reference {

// OK, or Unimplemented naming each instruction of these computations that nothing here evaluates.
absl::Status CheckSupported(const std::vector<const Computation*>& computations,
                            const EvaluateOptions& options);
// FailedPrecondition where one of them needs what the run's caller has not given: the elements of a constant
// that the text leaves out, a host to read from.
absl::Status CheckSupplies(const std::vector<const Computation*>& computations,
                           const EvaluateOptions& options);

// `m.hlo:4:12: `, or nothing where the place is not known.
std::string PlaceOf(const Instruction& instruction);
// `'r' (f32[2] add)`
std::string Describe(const Instruction& instruction);
// The status with both before its message.
absl::Status Located(const absl::Status& status, const Instruction& instruction);

}  // namespace hlo::reference
