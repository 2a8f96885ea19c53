#pragma once
// Do the arguments fit the entry's parameters?

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo {

// FailedPrecondition, naming the parameter, if not.
absl::Status CheckArguments(const Computation& entry, absl::Span<const Literal> arguments);

}  // namespace hlo
