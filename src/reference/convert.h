#pragma once
// Scalar kernels of conversions (semantics 2 and 3.11 to 3.12).

#include "reference/elementwise.h"

namespace hlo::reference {

ScalarKernel BitcastConvertKernel(const Instruction& instruction);
ScalarKernel ReducePrecisionKernel(const Instruction& instruction);
ScalarKernel StochasticConvertKernel(const Instruction& instruction);

}  // namespace hlo::reference
