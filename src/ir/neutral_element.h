#pragma once
// Neutral elements of combiners.

#include <optional>

#include "hlo_run/module.h"

namespace hlo {

// Returns a value that does not change the result of the operation on any other operand; nullopt if the
// opcode has none, or if the type does not hold it. Sums of complex numbers may lose the sign of a zero.
std::optional<double> NeutralOf(Opcode opcode, ElementType type);

}  // namespace hlo
