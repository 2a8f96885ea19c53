#pragma once
// Finds instructions by name, and records their values in a run.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "debug/exposed_run.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// Find an instruction or a computation by its name, with or without `%`; the entry computation is searched
// first. Errors suggest the closest name.
absl::StatusOr<const Instruction*> FindInstruction(const Module& module, std::string name);
absl::StatusOr<const Computation*> FindComputation(const Module& module, std::string name);

using RecordedValues = absl::flat_hash_map<const Instruction*, Literal>;
// Returns the values that instructions of one computation have at their n-th execution, on the watched device
// of several. The fast engine computes those of the entry computation, the reference those of others and
// those of several devices.
absl::StatusOr<RecordedValues> RecordValues(const CheckedModule& module,
                                            absl::Span<const Instruction* const> instructions,
                                            const WatchedArguments& arguments, int64_t execution = 1);

}  // namespace hlo::debug
