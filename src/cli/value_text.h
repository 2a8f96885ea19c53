#pragma once
// Results for people: large arrays by their corners, and a line of statistics for each array.

#include <string>

#include "hlo_run/literal.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::cli {

// As ToString with shapes; arrays of more than 1,000 elements show the first and last three of each
// dimension.
std::string SummarisedText(const Literal& value);

// A line for each array: shape, minimum, maximum and mean of the finite elements, how many are NaN and
// infinite, and where the first of these is. Complex elements count by their magnitude.
std::string StatisticsText(const Literal& value);
nlohmann::ordered_json StatisticsJson(const Literal& value);

}  // namespace hlo::cli
