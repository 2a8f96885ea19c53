#pragma once
// Validates a finished plan before it runs: every step reads the values that the graph names, and no write
// destroys a live value.

#include "absl/status/status.h"
#include "plan/plan.h"

namespace hlo::plan {

// Walks the steps with a model of memory of its own: which values the bytes of each buffer hold. It shares no
// code with the passes that choose order, lifetimes, aliases and places. Internal, naming step, value and
// buffer, where a step reads a buffer that does not hold the value that the step was planned with; where a
// step is no function of the values that the graph names; where it overwrites elements that it still has to
// read, a constant, or an argument that the caller keeps; where the state of a loop is not in the same
// buffers at the loop's entry and at the end of its body; where an access leaves its buffer, or a buffer
// leaves the arena; where a result does not hold the value that the graph names; where effects change their
// order. Plans whose results may take the memory of donated arguments hold with and without the donation.
absl::Status ValidatePlan(const Plan& plan);

}  // namespace hlo::plan
