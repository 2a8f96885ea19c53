#pragma once
// Made-up elements.

#include <cstdint>

#include "hlo_run/io.h"
#include "io/index_operands.h"

namespace hlo::io {

// Fills array number `array` of those that are made from one seed. Integers are at most `limit` where there
// is one.
void FillArray(Literal& literal, InputFill fill, uint64_t seed, uint64_t array,
               int64_t limit = kNoIndexLimit);

}  // namespace hlo::io
