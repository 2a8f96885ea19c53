#pragma once
// The verifier of a plan's bytecode: translation validation against the plan's steps.
//
// Steps and bytecode are executed symbolically side by side. Both start from the same arguments and
// constants; values are numbered, so that equal numbers are equal values. When control flow begins, repeats
// or joins, both sides must agree on the values in live memory, on conditions, and on the order of effects.
// Also, every byte of the frame must be written before it is read,
// and every access must be within the frame or the buffer. The verifier shares no code with the compiler.

#include "absl/status/status.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns Internal, with the operation, the frame offset or buffer, and the step that disagree. A plan
// without code is valid.
absl::Status VerifyBytecode(const Plan& plan);

}  // namespace hlo::plan
