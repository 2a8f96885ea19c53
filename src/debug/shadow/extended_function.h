#pragma once
// Computations on scalars in double-double.

#include <memory>
#include <optional>

#include "debug/shadow/complex_table.h"
#include "debug/shadow/double_double.h"
#include "hlo_run/module.h"
#include "reference/scalar_function.h"

namespace hlo::debug {

// Returns the value of an elementwise opcode on up to two operands, or nullopt if it has no form in
// double-double.
std::optional<DoubleDouble> EvaluateExtended(Opcode opcode, const DoubleDouble& a, const DoubleDouble& b);

// Returns the function of a computation on f64, c128, integers and predicates; null if an instruction has no
// form in double-double. The imaginary part of a WideScalar is the low part of an f64. A c128 is its number
// in the table, which must outlive the function.
std::unique_ptr<reference::ScalarFunction> ExtendedFunction(const Computation& computation,
                                                            ComplexTable& table);

}  // namespace hlo::debug
