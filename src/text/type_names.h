#pragma once
// Which element type of HLO does a word of another language mean?

#include <string_view>

namespace hlo::text {

// "f32" for `float32`, `float` and the like; the element type that a misspelled word is closest to; or "".
std::string_view ElementTypeMeant(std::string_view word);

}  // namespace hlo::text
