#pragma once
// --while-limit: every loop of a module ends after a number of iterations.

#include <cstdint>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::cli {

// The module with a counter in each while's state. Places of its instructions are those in a text of its own.
absl::StatusOr<CheckedModule> LimitLoops(const Module& module, int64_t limit, const ParseOptions& options);

}  // namespace hlo::cli
