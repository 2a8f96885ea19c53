#pragma once
// Checks the arguments of a run.

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo {

// Returns FailedPrecondition with the parameter's name if an argument does not fit its parameter.
absl::Status CheckArguments(const Computation& entry, absl::Span<const Literal> arguments);

}  // namespace hlo
