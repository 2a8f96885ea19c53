#pragma once

#include "draft.h"

namespace hlo::fuzz {

// Turns the floating types of a module into integers of the same width, so that all that it computes is exact
// in every order, while its structure stays. Functions that only floats have become others. False where it
// has something that integers do not.
bool MakeIntegers(Draft& draft);

}  // namespace hlo::fuzz
