#pragma once
// The passes of the planner, in the order in which they run.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/plan_options.h"
#include "plan/pass.h"

namespace hlo::plan {

// Returns the table in the order of PassId; the parts of a pass follow it.
absl::Span<const Pass> Passes();

// Returns InvalidArgument if a name is unknown, or the pass is required.
absl::StatusOr<PassSet> EnabledPasses(const PlanOptions& options);

// Returns a table of all passes for users.
std::string PassesText();

// Runs the passes in order; with PlanOptions::check_passes, PassChecker checks each of them.
absl::Status RunPasses(absl::Span<const Pass> passes, PlanState& state);

}  // namespace hlo::plan
