#pragma once
// Elementwise operations on f64 arrays, faster than the reference's, which calls a function for each element.

#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/opcode.h"

namespace hlo::debug {

// Returns the result for f64 operands with equal dimensions; an invalid literal for other opcodes and
// operands.
absl::StatusOr<Literal> FastElementwise(Opcode opcode, absl::Span<const Literal> operands);

}  // namespace hlo::debug
