#pragma once
// Implements --while-limit, which ends every loop after a number of iterations.

#include <cstdint>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::cli {

// Returns the module with an iteration counter in each while's state. The locations of its instructions refer
// to its own text.
absl::StatusOr<CheckedModule> LimitLoops(const Module& module, int64_t limit, const ParseOptions& options);

}  // namespace hlo::cli
