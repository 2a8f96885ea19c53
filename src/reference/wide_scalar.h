#pragma once
// Loads and stores single elements as WideScalar, with the type dispatched beforehand.

#include "reference/scalar_function.h"

namespace hlo::reference {

// Loads element i of an array that starts at `data`. NaNs keep their bits.
using ScalarLoad = WideScalar (*)(const void* data, int64_t i);
using ScalarStore = void (*)(void* data, int64_t i, const WideScalar& value);
ScalarLoad ScalarLoader(ElementType type);
ScalarStore ScalarStorer(ElementType type);

// Rounds a value of the type's class as arithmetic does: through f32 for floats of at most 16 bits.
using ScalarRound = double (*)(double value);
ScalarRound ArithmeticRound(ElementType type);
// Returns the rounding of conversions from f64, which round once to floats of at most 8 bits.
ScalarRound ConversionRound(ElementType type);

}  // namespace hlo::reference
