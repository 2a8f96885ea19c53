#pragma once
// Prints results for people: large arrays abbreviated, and statistics in one line per array.

#include <string>

#include "hlo_run/literal.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::cli {

// Prints as ToString with shapes. Arrays of more than 1,000 elements show the first and last three of each
// dimension.
std::string SummarisedText(const Literal& value);

// Return per array the shape; minimum, maximum and mean of the finite elements; the numbers of NaNs and
// infinities and the position of the first. Complex elements are represented by their magnitude.
std::string StatisticsText(const Literal& value);
nlohmann::ordered_json StatisticsJson(const Literal& value);

}  // namespace hlo::cli
