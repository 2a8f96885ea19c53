#pragma once
// Maps type names of other languages to HLO element types.

#include <string_view>

namespace hlo::text {

// Returns "f32" for `float32`, `float` and the like; the closest element type for a misspelled word; or "".
std::string_view ClosestElementType(std::string_view word);

}  // namespace hlo::text
