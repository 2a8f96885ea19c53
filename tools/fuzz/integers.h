#pragma once

#include "draft.h"

namespace hlo::fuzz {

// Replaces the floating types of a module by integers of the same width, so that all results are exact in
// every order; keeps its structure. Functions without an integer version are replaced. Returns false if the
// module has operations that integers do not support.
bool MakeIntegers(Draft& draft);

}  // namespace hlo::fuzz
