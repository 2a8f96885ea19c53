#pragma once
// Reading single elements as WideScalar and storing them, with the choice of the type made beforehand.

#include "reference/scalar_function.h"

namespace hlo::reference {

// The element i of an array that starts at `data`. NaNs keep their bits on the way through.
using ScalarLoad = WideScalar (*)(const void* data, int64_t i);
using ScalarStore = void (*)(void* data, int64_t i, const WideScalar& value);
ScalarLoad ScalarLoader(ElementType type);
ScalarStore ScalarStorer(ElementType type);

// A value of the type's class, rounded as arithmetic rounds into the type: by way of f32 into floats of 16
// bits and fewer.
using ScalarRound = double (*)(double value);
ScalarRound ArithmeticRound(ElementType type);
// The same for a conversion from f64, which rounds once into floats of 8 bits and fewer.
ScalarRound ConversionRound(ElementType type);

}  // namespace hlo::reference
