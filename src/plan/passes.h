#pragma once
// The passes of the planner, in the order in which they run.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/plan_options.h"
#include "plan/pass.h"

namespace hlo::plan {

// The table, in the order of PassId; a pass comes before its parts, and those before the next pass.
absl::Span<const Pass> Passes();

// InvalidArgument where a name is not a pass's, or the pass is required.
absl::StatusOr<PassSet> EnabledPasses(const PlanOptions& options);

// A table of all passes, for users.
std::string PassesText();

// Runs the passes of a table in order; with PlanOptions::check_passes, PassChecker looks at each.
absl::Status RunPasses(absl::Span<const Pass> passes, PlanState& state);

}  // namespace hlo::plan
