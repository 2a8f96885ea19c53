#pragma once
// Validates a finished plan before it runs: every step reads the values that the graph names, and no write
// destroys a live value.

#include "absl/status/status.h"
#include "plan/plan.h"

namespace hlo::plan {

// Visits the steps with its own model of memory, which tracks the values that the bytes of each buffer hold.
// It shares no code with the passes that choose order, live ranges, aliases and offsets. Returns Internal,
// with the step, value and buffer, if
// - a step reads a buffer that does not hold the value that the step was planned with;
// - a step's result is not a function of the values that the graph names;
// - a step overwrites elements before it reads them, a constant, or an argument that the caller keeps;
// - the state of a loop is in other buffers at the end of its body than at its entry;
// - an access is outside its buffer, or a buffer is outside the arena;
// - a result does not hold the value that the graph names;
// - the order of side effects changes.
// Plans whose results may reuse the memory of donated arguments are checked with and without the donation.
absl::Status ValidatePlan(const Plan& plan);

}  // namespace hlo::plan
