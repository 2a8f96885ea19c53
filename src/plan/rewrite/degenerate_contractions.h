#pragma once
// Reductions and products that combine one element with nothing but an initial value: elementwise code.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// A reduction of one array over dimensions of size 1 by elementwise code: a module of the array's one operand
// that gives its elements the result's dimensions; the code is then applied to initial value and element.
// nullopt for others.
std::optional<CheckedModule> ElementsOfReduce(const Instruction& reduce);

// A dot that contracts dimensions of size 1: a module of its two operands that multiplies them, and adds 0 to
// floats. nullopt for others.
std::optional<CheckedModule> ProductOfOneTerm(const Instruction& dot);

}  // namespace hlo::plan
